! SPDX-License-Identifier: Apache-2.0
!> The C API for Fortran 2018: compile this file with the compiler of your program, link
!> libspmm_dist.  python/make_fortran.py writes it from the headers beside it, which document each
!> function; docs/how-to/fortran.md, what differs:
!> - Handles, buffers, streams and arrays of values are type(c_ptr): initialise handles by
!>   c_null_ptr, pass c_loc() of an array that has the target attribute.  Arrays of indices are
!>   passed as they are.
!> - Indices count from 0 as in C, also in row_ptr and col_idx.
!> - A communicator is the integer of module mpi; of mpi_f08 it is comm%MPI_VAL.
!> - spmm_plan_explain() takes the name of a file, to which it appends.  alpha and beta of
!>   spmm_execute_scaled() are c_loc() of a real or, for a complex A, complex number.
!>   SPMM_LAYOUT_COL is that of B(ldb, n).
!> - Texts given to the library end with c_null_char; spmm_string() turns those it returns into
!>   Fortran's.  A text that an option points to must live until the call returns.
!> - Options are optional arguments; absent, they are NULL in C.  They and the infos come
!>   initialised.  Options are targets: else gfortran takes it that what they point to is not used
!>   by the call.
!> - unsigned 64-bit integers are integer(c_int64_t).
!> struct_size has the sizes of 64-bit machines.
module spmm_dist
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_double, c_f_pointer, c_funptr, &
    c_int, c_int32_t, c_int64_t, c_null_funptr, c_null_ptr, c_ptr, c_size_t
  implicit none
  private :: c_associated, c_char, c_double, c_f_pointer, c_funptr, c_int, c_int32_t, c_int64_t, &
    c_null_funptr, c_null_ptr, c_ptr, c_size_t, c_strlen

  ! Status of a call
  integer(c_int), parameter :: SPMM_OK = 0, SPMM_ERR_ARGUMENT = -1, SPMM_ERR_MEMORY = -2, &
    SPMM_ERR_UNSUPPORTED = -3, SPMM_ERR_IO = -4, SPMM_ERR_DEVICE = -5, SPMM_ERR_COMM = -6, &
    SPMM_ERR_RANGE = -7, SPMM_ERR_INTERNAL = -8
  ! Storage type of A, B and C
  integer(c_int), parameter :: SPMM_TYPE_AUTO = 0, SPMM_R_64F = 1, SPMM_R_32F = 2, SPMM_R_16F = 3, &
    SPMM_R_16BF = 4, SPMM_C_64F = 5, SPMM_C_32F = 6
  ! Arithmetic, by cuBLAS's names
  integer(c_int), parameter :: SPMM_COMPUTE_AUTO = 0, SPMM_COMPUTE_64F = 1, SPMM_COMPUTE_32F = 2, &
    SPMM_COMPUTE_32F_FAST_TF32 = 3
  ! Storage order of the dense blocks B and C
  integer(c_int), parameter :: SPMM_LAYOUT_AUTO = 0, SPMM_LAYOUT_ROW = 1, SPMM_LAYOUT_COL = 2
  ! op(A): A itself, its transpose, or its conjugate transpose, which of a real A is its transpose
  integer(c_int), parameter :: SPMM_OP_N = 0, SPMM_OP_T = 1, SPMM_OP_H = 2
  ! Where a context computes
  integer(c_int), parameter :: SPMM_DEVICE_AUTO = 0, SPMM_DEVICE_CPU = 1, SPMM_DEVICE_CUDA = 2
  ! The two dense operands
  integer(c_int), parameter :: SPMM_OPERAND_B = 0, SPMM_OPERAND_C = 1
  integer(c_int), parameter :: SPMM_MOST_SPANS = 24

  type, bind(c) :: spmm_context_options_t
    integer(c_size_t) :: struct_size = 64
    integer(c_int) :: device = 0
    type(c_ptr) :: cuda_device = c_null_ptr
    type(c_funptr) :: log = c_null_funptr
    type(c_ptr) :: log_user = c_null_ptr
    real(c_double) :: timeout_s = 0
    integer(c_int) :: nccl_ctas = 0, check = 0, ranks_per_node = 0
  end type

  type, bind(c) :: spmm_context_info_t
    integer(c_size_t) :: struct_size = 64
    integer(c_int) :: rank = 0, size = 0
    type(c_ptr) :: device = c_null_ptr, device_name = c_null_ptr
    integer(c_int) :: device_ordinal = 0, node = 0, nodes = 0
    integer(c_size_t) :: host_bytes = 0, device_bytes = 0
  end type

  type, bind(c) :: spmm_component_info_t
    integer(c_size_t) :: struct_size = 32
    type(c_ptr) :: name = c_null_ptr, description = c_null_ptr
    integer(c_int) :: built = 0
  end type

  type, bind(c) :: spmm_matrix_info_t
    integer(c_size_t) :: struct_size = 96
    integer(c_int64_t) :: rows = 0, cols = 0, nnz = 0, first_row = 0, local_rows = 0, &
      first_col = 0, local_cols = 0, local_nnz = 0
    integer(c_int) :: type = 0
    integer(c_int64_t) :: digest = 0
    integer(c_size_t) :: host_bytes = 0
  end type

  type, bind(c) :: spmm_plan_options_t
    integer(c_size_t) :: struct_size = 104
    integer(c_int) :: op = 0, layout = 0, compute = 0, c_type = 0, b_type = 0
    type(c_ptr) :: partition = c_null_ptr
    real(c_double) :: imbalance = 0
    type(c_ptr) :: engine = c_null_ptr, transport = c_null_ptr
    integer(c_int64_t) :: executes = 0
    integer(c_int) :: deterministic = 0, reproducible = 0, graph = 0, halo_type = 0, profile = 0, &
      exact_nonfinite = 0
    type(c_ptr) :: tuning = c_null_ptr
  end type

  type, bind(c) :: spmm_layout_info_t
    integer(c_size_t) :: struct_size = 48
    integer(c_int64_t) :: local_rows = 0
    type(c_ptr) :: global_row = c_null_ptr
    integer(c_int64_t) :: original_first = 0, original_rows = 0
    integer(c_int) :: is_shared = 0
  end type

  type, bind(c) :: spmm_flow_t
    integer(c_int64_t) :: rows = 0, rows_max = 0, bytes = 0, bytes_max = 0, messages = 0, &
      messages_max = 0
  end type

  type, bind(c) :: spmm_plan_stats_t
    integer(c_size_t) :: struct_size = 376
    type(c_ptr) :: engine = c_null_ptr, halo_engine = c_null_ptr, transport = c_null_ptr, &
      partition = c_null_ptr
    integer(c_int64_t) :: nnz_local = 0, nnz_halo = 0, halo_rows = 0, send_rows = 0, &
      halo_rows_total = 0, halo_rows_max = 0, block_halo_rows_total = 0, allgather_rows_total = 0
    real(c_double) :: imbalance = 0
    integer(c_size_t) :: send_bytes = 0, recv_bytes = 0, host_bytes = 0, device_bytes = 0
    real(c_double) :: partition_s = 0, build_s = 0, pack_s = 0, exchange_s = 0, local_s = 0, &
      halo_s = 0, total_s = 0, tune_s = 0, local_predicted_s = 0, local_measured_s = 0
    type(c_ptr) :: reordering = c_null_ptr
    real(c_double) :: reorder_s = 0
    type(c_ptr) :: schedule = c_null_ptr
    integer(c_int) :: chunks = 0
    real(c_double) :: schedule_predicted_s = 0, schedule_measured_s = 0
    type(spmm_flow_t) :: within = spmm_flow_t(), between = spmm_flow_t()
    type(c_ptr) :: exchange = c_null_ptr
  end type

  type, bind(c) :: spmm_span_t
    type(c_ptr) :: phase = c_null_ptr
    integer(c_int) :: chunk = 0
    real(c_double) :: from_s = 0, to_s = 0
  end type

  type, bind(c) :: spmm_attention_options_t
    integer(c_size_t) :: struct_size = 40
    integer(c_int) :: backward = 0
    type(c_ptr) :: kernel = c_null_ptr, transport = c_null_ptr, tuning = c_null_ptr
  end type

  type, bind(c) :: spmm_attention_info_t
    integer(c_size_t) :: struct_size = 96
    type(c_ptr) :: kernel = c_null_ptr, halo_kernel = c_null_ptr
    integer(c_int) :: vector = 0, halo_vector = 0
    integer(c_int64_t) :: vectors = 0, halo_vectors = 0, columns = 0, halo_columns = 0
    type(c_ptr) :: transport = c_null_ptr
    integer(c_int64_t) :: halo_rows = 0, send_rows = 0
    integer(c_size_t) :: device_bytes = 0
  end type

  type, bind(c) :: spmm_scale_options_t
    integer(c_size_t) :: struct_size = 40
    integer(c_int) :: ranks = 0, ranks_per_node = 0
    type(c_ptr) :: partition = c_null_ptr
    real(c_double) :: imbalance = 0
    type(c_ptr) :: tuning = c_null_ptr
  end type

  type, bind(c) :: spmm_scale_info_t
    integer(c_size_t) :: struct_size = 168
    type(c_ptr) :: partition = c_null_ptr
    integer(c_int) :: nodes = 0
    type(spmm_flow_t) :: flat_within = spmm_flow_t(), flat_between = spmm_flow_t(), &
      node_between = spmm_flow_t()
  end type

  type, bind(c) :: spmm_sddmm_options_t
    integer(c_size_t) :: struct_size = 40
    integer(c_int) :: s_type = 0
    type(c_ptr) :: kernel = c_null_ptr, transport = c_null_ptr, tuning = c_null_ptr
  end type

  type, bind(c) :: spmm_sddmm_info_t
    integer(c_size_t) :: struct_size = 80
    type(c_ptr) :: kernel = c_null_ptr, halo_kernel = c_null_ptr
    integer(c_int) :: vector = 0, halo_vector = 0
    integer(c_int64_t) :: vectors = 0, halo_vectors = 0
    type(c_ptr) :: transport = c_null_ptr
    integer(c_int64_t) :: halo_rows = 0, send_rows = 0
    integer(c_size_t) :: device_bytes = 0
  end type

  ! context.h
  interface
    integer(c_int) function spmm_context_create(comm, options, ctx) bind(c, &
      name='spmm_context_create_f')
      import
      integer(c_int), value :: comm
      type(spmm_context_options_t), intent(in), optional, target :: options
      type(c_ptr), intent(inout) :: ctx
    end function
    integer(c_int) function spmm_context_destroy(ctx) bind(c)
      import
      type(c_ptr), intent(inout) :: ctx
    end function
    integer(c_int) function spmm_context_get_info(ctx, info) bind(c)
      import
      type(c_ptr), value :: ctx
      type(spmm_context_info_t), intent(inout) :: info
    end function
    type(c_ptr) function spmm_last_error(ctx) bind(c)
      import
      type(c_ptr), value :: ctx
    end function
    type(c_ptr) function spmm_status_string(status) bind(c)
      import
      integer(c_int), value :: status
    end function
    type(c_ptr) function spmm_version() bind(c)
      import
    end function
    integer(c_size_t) function spmm_type_size(type) bind(c)
      import
      integer(c_int), value :: type
    end function
    integer(c_int) function spmm_buffer_alloc(ctx, bytes, buffer) bind(c)
      import
      type(c_ptr), value :: ctx
      integer(c_size_t), value :: bytes
      type(c_ptr), intent(inout) :: buffer
    end function
    integer(c_int) function spmm_buffer_free(ctx, buffer) bind(c)
      import
      type(c_ptr), value :: ctx
      type(c_ptr), intent(inout) :: buffer
    end function
    integer(c_int) function spmm_buffer_copy(ctx, dst, src, bytes) bind(c)
      import
      type(c_ptr), value :: ctx, dst, src
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function spmm_stream_synchronize(ctx, stream) bind(c)
      import
      type(c_ptr), value :: ctx, stream
    end function
    integer(c_int) function spmm_engine_info(index, info) bind(c)
      import
      integer(c_int), value :: index
      type(spmm_component_info_t), intent(inout) :: info
    end function
    integer(c_int) function spmm_transport_info(index, info) bind(c)
      import
      integer(c_int), value :: index
      type(spmm_component_info_t), intent(inout) :: info
    end function
    integer(c_int) function spmm_partitioner_info(index, info) bind(c)
      import
      integer(c_int), value :: index
      type(spmm_component_info_t), intent(inout) :: info
    end function
  end interface

  ! matrix.h
  interface
    integer(c_int) function spmm_matrix_create_csr(ctx, n_rows, n_cols, row_ptr, col_idx, values, &
      type, A) bind(c)
      import
      type(c_ptr), value :: ctx, values
      integer(c_int64_t), value :: n_rows, n_cols
      integer(c_int64_t), intent(in) :: row_ptr(*), col_idx(*)
      integer(c_int), value :: type
      type(c_ptr), intent(inout) :: A
    end function
    integer(c_int) function spmm_matrix_create_csr32(ctx, n_rows, n_cols, row_ptr, col_idx, &
      values, type, A) bind(c)
      import
      type(c_ptr), value :: ctx, values
      integer(c_int64_t), value :: n_rows, n_cols
      integer(c_int32_t), intent(in) :: row_ptr(*), col_idx(*)
      integer(c_int), value :: type
      type(c_ptr), intent(inout) :: A
    end function
    integer(c_int) function spmm_matrix_create_cvse(ctx, n_rows, n_cols, vector, width, block_ptr, &
      col_idx, values, type, A) bind(c)
      import
      type(c_ptr), value :: ctx, values
      integer(c_int64_t), value :: n_rows, n_cols, vector, width
      integer(c_int64_t), intent(in) :: block_ptr(*), col_idx(*)
      integer(c_int), value :: type
      type(c_ptr), intent(inout) :: A
    end function
    integer(c_int) function spmm_matrix_read(ctx, path, type, seed, A) bind(c)
      import
      type(c_ptr), value :: ctx
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: type
      integer(c_int64_t), value :: seed
      type(c_ptr), intent(inout) :: A
    end function
    integer(c_int) function spmm_matrix_write(A, path, format) bind(c)
      import
      type(c_ptr), value :: A
      character(kind=c_char), intent(in) :: path(*), format(*)
    end function
    integer(c_int) function spmm_matrix_generate(ctx, spec, type, seed, A) bind(c)
      import
      type(c_ptr), value :: ctx
      character(kind=c_char), intent(in) :: spec(*)
      integer(c_int), value :: type
      integer(c_int64_t), value :: seed
      type(c_ptr), intent(inout) :: A
    end function
    integer(c_int) function spmm_matrix_update_values(A, values) bind(c)
      import
      type(c_ptr), value :: A, values
    end function
    integer(c_int) function spmm_matrix_get_info(A, info) bind(c)
      import
      type(c_ptr), value :: A
      type(spmm_matrix_info_t), intent(inout) :: info
    end function
    integer(c_int) function spmm_matrix_get_csr(A, row_ptr, col_idx, values) bind(c)
      import
      type(c_ptr), value :: A
      type(c_ptr), intent(inout) :: row_ptr, col_idx, values
    end function
    integer(c_int) function spmm_matrix_drop_entries(A) bind(c)
      import
      type(c_ptr), value :: A
    end function
    integer(c_int) function spmm_matrix_destroy(A) bind(c)
      import
      type(c_ptr), intent(inout) :: A
    end function
  end interface

  ! plan.h
  interface
    integer(c_int) function spmm_plan_create(A, n, options, plan) bind(c)
      import
      type(c_ptr), value :: A
      integer(c_int64_t), value :: n
      type(spmm_plan_options_t), intent(in), optional, target :: options
      type(c_ptr), intent(inout) :: plan
    end function
    integer(c_int) function spmm_execute(plan, n, alpha, B, ldb, beta, C, ldc, stream) bind(c)
      import
      type(c_ptr), value :: plan, B, C, stream
      integer(c_int64_t), value :: n, ldb, ldc
      real(c_double), value :: alpha, beta
    end function
    integer(c_int) function spmm_plan_resync(plan) bind(c)
      import
      type(c_ptr), value :: plan
    end function
    integer(c_int) function spmm_execute_scaled(plan, n, alpha, B, ldb, beta, C, ldc, stream) &
      bind(c)
      import
      type(c_ptr), value :: plan, alpha, B, beta, C, stream
      integer(c_int64_t), value :: n, ldb, ldc
    end function
    integer(c_int) function spmm_plan_update_values(plan, values, stream) bind(c)
      import
      type(c_ptr), value :: plan, values, stream
    end function
    integer(c_int) function spmm_plan_get_layout(plan, operand, info) bind(c)
      import
      type(c_ptr), value :: plan
      integer(c_int), value :: operand
      type(spmm_layout_info_t), intent(inout) :: info
    end function
    integer(c_int) function spmm_plan_scatter(plan, operand, n, src, ld_src, dst, ld_dst, stream) &
      bind(c)
      import
      type(c_ptr), value :: plan, src, dst, stream
      integer(c_int), value :: operand
      integer(c_int64_t), value :: n, ld_src, ld_dst
    end function
    integer(c_int) function spmm_plan_gather(plan, operand, n, src, ld_src, dst, ld_dst, stream) &
      bind(c)
      import
      type(c_ptr), value :: plan, src, dst, stream
      integer(c_int), value :: operand
      integer(c_int64_t), value :: n, ld_src, ld_dst
    end function
    integer(c_int) function spmm_plan_write_partition(plan, path) bind(c)
      import
      type(c_ptr), value :: plan
      character(kind=c_char), intent(in) :: path(*)
    end function
    integer(c_int) function spmm_plan_get_stats(plan, stats) bind(c)
      import
      type(c_ptr), value :: plan
      type(spmm_plan_stats_t), intent(inout) :: stats
    end function
    integer(c_int) function spmm_plan_get_timeline(plan, capacity, spans, count) bind(c)
      import
      type(c_ptr), value :: plan
      integer(c_int), value :: capacity
      type(spmm_span_t), intent(inout) :: spans(*)
      integer(c_int), intent(inout) :: count
    end function
    integer(c_int) function spmm_plan_get_traffic(plan, rows) bind(c)
      import
      type(c_ptr), value :: plan
      integer(c_int64_t), intent(inout) :: rows(*)
    end function
    integer(c_int) function spmm_plan_get_halo(plan, rows) bind(c)
      import
      type(c_ptr), value :: plan
      integer(c_int64_t), intent(inout) :: rows(*)
    end function
    integer(c_int) function spmm_plan_explain(plan, path) bind(c, name='spmm_plan_explain_f')
      import
      type(c_ptr), value :: plan
      character(kind=c_char), intent(in) :: path(*)
    end function
    integer(c_int) function spmm_plan_destroy(plan) bind(c)
      import
      type(c_ptr), intent(inout) :: plan
    end function
  end interface

  ! attention.h
  interface
    integer(c_int) function spmm_attention_plan_create(mask, heads, k, options, plan) bind(c)
      import
      type(c_ptr), value :: mask
      integer(c_int64_t), value :: heads, k
      type(spmm_attention_options_t), intent(in), optional, target :: options
      type(c_ptr), intent(inout) :: plan
    end function
    integer(c_int) function spmm_attention(plan, scale, Q, ldq, K, ldk, V, ldv, O, ldo, lse, &
      stream) bind(c)
      import
      type(c_ptr), value :: plan, Q, K, V, O, lse, stream
      real(c_double), value :: scale
      integer(c_int64_t), value :: ldq, ldk, ldv, ldo
    end function
    integer(c_int) function spmm_attention_backward(plan, scale, Q, ldq, K, ldk, V, ldv, O, dO, &
      ldo, lse, dQ, dK, dV, stream) bind(c)
      import
      type(c_ptr), value :: plan, Q, K, V, O, dO, lse, dQ, dK, dV, stream
      real(c_double), value :: scale
      integer(c_int64_t), value :: ldq, ldk, ldv, ldo
    end function
    integer(c_int) function spmm_attention_plan_get_info(plan, info) bind(c)
      import
      type(c_ptr), value :: plan
      type(spmm_attention_info_t), intent(inout) :: info
    end function
    integer(c_int) function spmm_attention_plan_destroy(plan) bind(c)
      import
      type(c_ptr), intent(inout) :: plan
    end function
  end interface

  ! scale.h
  interface
    integer(c_int) function spmm_matrix_scale(A, n, options, info) bind(c)
      import
      type(c_ptr), value :: A
      integer(c_int64_t), value :: n
      type(spmm_scale_options_t), intent(in), optional, target :: options
      type(spmm_scale_info_t), intent(inout) :: info
    end function
  end interface

  ! sddmm.h
  interface
    integer(c_int) function spmm_sddmm_plan_create(mask, k, options, plan) bind(c)
      import
      type(c_ptr), value :: mask
      integer(c_int64_t), value :: k
      type(spmm_sddmm_options_t), intent(in), optional, target :: options
      type(c_ptr), intent(inout) :: plan
    end function
    integer(c_int) function spmm_sddmm(plan, k, alpha, X, ldx, Y, ldy, beta, S, stream) bind(c)
      import
      type(c_ptr), value :: plan, X, Y, S, stream
      integer(c_int64_t), value :: k, ldx, ldy
      real(c_double), value :: alpha, beta
    end function
    integer(c_int) function spmm_sddmm_softmax(plan, scale, S, P, stream) bind(c)
      import
      type(c_ptr), value :: plan, S, P, stream
      real(c_double), value :: scale
    end function
    integer(c_int) function spmm_sddmm_plan_get_info(plan, info) bind(c)
      import
      type(c_ptr), value :: plan
      type(spmm_sddmm_info_t), intent(inout) :: info
    end function
    integer(c_int) function spmm_sddmm_plan_destroy(plan) bind(c)
      import
      type(c_ptr), intent(inout) :: plan
    end function
  end interface

  abstract interface
    !> Option log of a context: c_funloc() of such a procedure.
    subroutine spmm_log_fn_t(user, line) bind(c)
      import
      type(c_ptr), value :: user, line
    end subroutine
  end interface
  interface
    function c_strlen(text) result(length) bind(c, name='strlen')
      import
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
  end interface

contains

  !> A text of C as one of Fortran, for example spmm_string(spmm_last_error(ctx)); '' for
  !> c_null_ptr.
  function spmm_string(text) result(string)
    type(c_ptr), intent(in) :: text
    character(len=:), allocatable :: string
    character(kind=c_char), pointer :: letters(:)
    integer :: i, length

    length = 0
    if (c_associated(text)) length = int(c_strlen(text))
    allocate (character(len=length) :: string)
    if (length == 0) return
    call c_f_pointer(text, letters, [length])
    do i = 1, length
      string(i:i) = letters(i)
    end do
  end function
end module
