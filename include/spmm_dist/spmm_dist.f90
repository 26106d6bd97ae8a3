! SPDX-License-Identifier: Apache-2.0
!> The C API for Fortran 2018: compile this file with the compiler of your program, link
!> libspmm_dist.  The headers beside this file document each function; docs/how-to/fortran.md, what
!> differs:
!> - Handles, buffers, streams and arrays of values are type(c_ptr): initialise handles by
!>   c_null_ptr, pass c_loc() of an array that has the target attribute.  Arrays of indices are
!>   passed as they are.
!> - Indices count from 0 as in C, also in row_ptr and col_idx.
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
  ! Arithmetic
  integer(c_int), parameter :: SPMM_COMPUTE_AUTO = 0, SPMM_COMPUTE_64F = 1, SPMM_COMPUTE_32F = 2, &
    SPMM_COMPUTE_32F_FAST_TF32 = 3
  ! Storage order of B and C: SPMM_LAYOUT_COL is that of B(ldb, n)
  integer(c_int), parameter :: SPMM_LAYOUT_AUTO = 0, SPMM_LAYOUT_ROW = 1, SPMM_LAYOUT_COL = 2
  ! op(A)
  integer(c_int), parameter :: SPMM_OP_N = 0, SPMM_OP_T = 1, SPMM_OP_H = 2
  ! Where a context computes
  integer(c_int), parameter :: SPMM_DEVICE_AUTO = 0, SPMM_DEVICE_CPU = 1, SPMM_DEVICE_CUDA = 2
  ! The two dense operands
  integer(c_int), parameter :: SPMM_OPERAND_B = 0, SPMM_OPERAND_C = 1
  ! Room for the time line of an execute
  integer(c_int), parameter :: SPMM_MOST_SPANS = 24

  abstract interface
    !> Option log of a context: c_funloc() of such a procedure.
    subroutine spmm_log_fn_t(user, line) bind(c)
      import
      type(c_ptr), value :: user, line
    end subroutine
  end interface

  type, bind(c) :: spmm_context_options_t
    integer(c_size_t) :: struct_size = 64_c_size_t
    integer(c_int) :: device = 0
    type(c_ptr) :: cuda_device = c_null_ptr
    type(c_funptr) :: log = c_null_funptr
    type(c_ptr) :: log_user = c_null_ptr
    real(c_double) :: timeout_s = 0.0_c_double
    integer(c_int) :: nccl_ctas = 0
    integer(c_int) :: check = 0
    integer(c_int) :: ranks_per_node = 0
  end type

  type, bind(c) :: spmm_context_info_t
    integer(c_size_t) :: struct_size = 64_c_size_t
    integer(c_int) :: rank = 0
    integer(c_int) :: size = 0
    type(c_ptr) :: device = c_null_ptr
    type(c_ptr) :: device_name = c_null_ptr
    integer(c_int) :: device_ordinal = 0
    integer(c_int) :: node = 0
    integer(c_int) :: nodes = 0
    integer(c_size_t) :: host_bytes = 0_c_size_t
    integer(c_size_t) :: device_bytes = 0_c_size_t
  end type

  type, bind(c) :: spmm_component_info_t
    integer(c_size_t) :: struct_size = 32_c_size_t
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: description = c_null_ptr
    integer(c_int) :: built = 0
  end type

  type, bind(c) :: spmm_matrix_info_t
    integer(c_size_t) :: struct_size = 96_c_size_t
    integer(c_int64_t) :: rows = 0_c_int64_t
    integer(c_int64_t) :: cols = 0_c_int64_t
    integer(c_int64_t) :: nnz = 0_c_int64_t
    integer(c_int64_t) :: first_row = 0_c_int64_t
    integer(c_int64_t) :: local_rows = 0_c_int64_t
    integer(c_int64_t) :: first_col = 0_c_int64_t
    integer(c_int64_t) :: local_cols = 0_c_int64_t
    integer(c_int64_t) :: local_nnz = 0_c_int64_t
    integer(c_int) :: type = 0
    integer(c_int64_t) :: digest = 0_c_int64_t
    integer(c_size_t) :: host_bytes = 0_c_size_t
  end type

  type, bind(c) :: spmm_plan_options_t
    integer(c_size_t) :: struct_size = 152_c_size_t
    integer(c_int) :: op = 0
    integer(c_int) :: layout = 0
    integer(c_int) :: compute = 0
    integer(c_int) :: c_type = 0
    type(c_ptr) :: partition = c_null_ptr
    type(c_ptr) :: objective = c_null_ptr
    real(c_double) :: imbalance = 0.0_c_double
    type(c_ptr) :: engine = c_null_ptr
    type(c_ptr) :: transport = c_null_ptr
    integer(c_int) :: deterministic = 0
    integer(c_int) :: profile = 0
    integer(c_int) :: no_autotune = 0
    integer(c_int64_t) :: seed = 0_c_int64_t
    type(c_ptr) :: reorder = c_null_ptr
    integer(c_int64_t) :: executes = 0_c_int64_t
    type(c_ptr) :: schedule = c_null_ptr
    integer(c_int) :: chunks = 0
    integer(c_int) :: graph = 0
    integer(c_int) :: exact_nonfinite = 0
    integer(c_int) :: b_type = 0
    integer(c_int) :: reproducible = 0
    type(c_ptr) :: levels = c_null_ptr
    integer(c_int) :: halo_type = 0
  end type

  type, bind(c) :: spmm_layout_info_t
    integer(c_size_t) :: struct_size = 48_c_size_t
    integer(c_int64_t) :: local_rows = 0_c_int64_t
    type(c_ptr) :: global_row = c_null_ptr
    integer(c_int64_t) :: original_first = 0_c_int64_t
    integer(c_int64_t) :: original_rows = 0_c_int64_t
    integer(c_int) :: is_shared = 0
  end type

  type, bind(c) :: spmm_flow_t
    integer(c_int64_t) :: rows = 0_c_int64_t
    integer(c_int64_t) :: rows_max = 0_c_int64_t
    integer(c_int64_t) :: bytes = 0_c_int64_t
    integer(c_int64_t) :: bytes_max = 0_c_int64_t
    integer(c_int64_t) :: messages = 0_c_int64_t
    integer(c_int64_t) :: messages_max = 0_c_int64_t
  end type

  type, bind(c) :: spmm_plan_stats_t
    integer(c_size_t) :: struct_size = 376_c_size_t
    type(c_ptr) :: engine = c_null_ptr
    type(c_ptr) :: halo_engine = c_null_ptr
    type(c_ptr) :: transport = c_null_ptr
    type(c_ptr) :: partition = c_null_ptr
    integer(c_int64_t) :: nnz_local = 0_c_int64_t
    integer(c_int64_t) :: nnz_halo = 0_c_int64_t
    integer(c_int64_t) :: halo_rows = 0_c_int64_t
    integer(c_int64_t) :: mirror_rows = 0_c_int64_t
    integer(c_int64_t) :: halo_rows_total = 0_c_int64_t
    integer(c_int64_t) :: halo_rows_max = 0_c_int64_t
    integer(c_int64_t) :: block_halo_rows_total = 0_c_int64_t
    integer(c_int64_t) :: allgather_rows_total = 0_c_int64_t
    real(c_double) :: imbalance = 0.0_c_double
    integer(c_size_t) :: send_bytes = 0_c_size_t
    integer(c_size_t) :: recv_bytes = 0_c_size_t
    integer(c_size_t) :: host_bytes = 0_c_size_t
    integer(c_size_t) :: device_bytes = 0_c_size_t
    real(c_double) :: partition_s = 0.0_c_double
    real(c_double) :: build_s = 0.0_c_double
    real(c_double) :: pack_s = 0.0_c_double
    real(c_double) :: exchange_s = 0.0_c_double
    real(c_double) :: local_s = 0.0_c_double
    real(c_double) :: halo_s = 0.0_c_double
    real(c_double) :: total_s = 0.0_c_double
    real(c_double) :: tune_s = 0.0_c_double
    real(c_double) :: local_predicted_s = 0.0_c_double
    real(c_double) :: local_measured_s = 0.0_c_double
    type(c_ptr) :: reordering = c_null_ptr
    real(c_double) :: reorder_s = 0.0_c_double
    type(c_ptr) :: schedule = c_null_ptr
    integer(c_int) :: chunks = 0
    real(c_double) :: schedule_predicted_s = 0.0_c_double
    real(c_double) :: schedule_measured_s = 0.0_c_double
    type(spmm_flow_t) :: within = spmm_flow_t()
    type(spmm_flow_t) :: between = spmm_flow_t()
    type(c_ptr) :: levels = c_null_ptr
  end type

  type, bind(c) :: spmm_scale_options_t
    integer(c_size_t) :: struct_size = 48_c_size_t
    integer(c_int) :: ranks = 0
    integer(c_int) :: ranks_per_node = 0
    type(c_ptr) :: partition = c_null_ptr
    type(c_ptr) :: objective = c_null_ptr
    real(c_double) :: imbalance = 0.0_c_double
    integer(c_int64_t) :: seed = 0_c_int64_t
  end type

  type, bind(c) :: spmm_scale_info_t
    integer(c_size_t) :: struct_size = 168_c_size_t
    type(c_ptr) :: partition = c_null_ptr
    integer(c_int) :: nodes = 0
    type(spmm_flow_t) :: flat_within = spmm_flow_t()
    type(spmm_flow_t) :: flat_between = spmm_flow_t()
    type(spmm_flow_t) :: node_between = spmm_flow_t()
  end type

  type, bind(c) :: spmm_span_t
    type(c_ptr) :: phase = c_null_ptr
    integer(c_int) :: chunk = 0
    real(c_double) :: from_s = 0.0_c_double
    real(c_double) :: to_s = 0.0_c_double
  end type

  type, bind(c) :: spmm_sddmm_options_t
    integer(c_size_t) :: struct_size = 40_c_size_t
    integer(c_int) :: s_type = 0
    type(c_ptr) :: kernel = c_null_ptr
    type(c_ptr) :: transport = c_null_ptr
    type(c_ptr) :: levels = c_null_ptr
  end type

  type, bind(c) :: spmm_sddmm_info_t
    integer(c_size_t) :: struct_size = 80_c_size_t
    type(c_ptr) :: kernel = c_null_ptr
    type(c_ptr) :: halo_kernel = c_null_ptr
    integer(c_int) :: vector = 0
    integer(c_int) :: halo_vector = 0
    integer(c_int64_t) :: vectors = 0_c_int64_t
    integer(c_int64_t) :: halo_vectors = 0_c_int64_t
    type(c_ptr) :: transport = c_null_ptr
    integer(c_int64_t) :: halo_rows = 0_c_int64_t
    integer(c_int64_t) :: mirror_rows = 0_c_int64_t
    integer(c_size_t) :: device_bytes = 0_c_size_t
  end type

  type, bind(c) :: spmm_attention_options_t
    integer(c_size_t) :: struct_size = 40_c_size_t
    integer(c_int) :: backward = 0
    type(c_ptr) :: kernel = c_null_ptr
    type(c_ptr) :: transport = c_null_ptr
    type(c_ptr) :: levels = c_null_ptr
  end type

  type, bind(c) :: spmm_attention_info_t
    integer(c_size_t) :: struct_size = 96_c_size_t
    type(c_ptr) :: kernel = c_null_ptr
    type(c_ptr) :: halo_kernel = c_null_ptr
    integer(c_int) :: vector = 0
    integer(c_int) :: halo_vector = 0
    integer(c_int64_t) :: vectors = 0_c_int64_t
    integer(c_int64_t) :: halo_vectors = 0_c_int64_t
    integer(c_int64_t) :: columns = 0_c_int64_t
    integer(c_int64_t) :: halo_columns = 0_c_int64_t
    type(c_ptr) :: transport = c_null_ptr
    integer(c_int64_t) :: halo_rows = 0_c_int64_t
    integer(c_int64_t) :: mirror_rows = 0_c_int64_t
    integer(c_size_t) :: device_bytes = 0_c_size_t
  end type

  ! context.h
  interface
    function spmm_context_create(comm, options, ctx) result(status) &
      bind(c, name='spmm_context_create_f')
      import
      integer(c_int), value :: comm ! of module mpi; of mpi_f08 comm%MPI_VAL
      type(spmm_context_options_t), intent(in), optional, target :: options
      type(c_ptr), intent(inout) :: ctx
      integer(c_int) :: status
    end function

    function spmm_context_destroy(ctx) result(status) bind(c)
      import
      type(c_ptr), intent(inout) :: ctx
      integer(c_int) :: status
    end function

    function spmm_context_get_info(ctx, info) result(status) bind(c)
      import
      type(c_ptr), value :: ctx
      type(spmm_context_info_t), intent(inout) :: info
      integer(c_int) :: status
    end function

    function spmm_last_error(ctx) result(text) bind(c)
      import
      type(c_ptr), value :: ctx
      type(c_ptr) :: text
    end function

    function spmm_status_string(status) result(text) bind(c)
      import
      integer(c_int), value :: status
      type(c_ptr) :: text
    end function

    function spmm_version() result(text) bind(c)
      import
      type(c_ptr) :: text
    end function

    function spmm_type_size(type) result(bytes) bind(c)
      import
      integer(c_int), value :: type
      integer(c_size_t) :: bytes
    end function

    function spmm_buffer_alloc(ctx, bytes, buffer) result(status) bind(c)
      import
      type(c_ptr), value :: ctx
      integer(c_size_t), value :: bytes
      type(c_ptr), intent(inout) :: buffer
      integer(c_int) :: status
    end function

    function spmm_buffer_free(ctx, buffer) result(status) bind(c)
      import
      type(c_ptr), value :: ctx
      type(c_ptr), intent(inout) :: buffer
      integer(c_int) :: status
    end function

    function spmm_buffer_copy(ctx, dst, src, bytes) result(status) bind(c)
      import
      type(c_ptr), value :: ctx, dst, src
      integer(c_size_t), value :: bytes
      integer(c_int) :: status
    end function

    function spmm_stream_synchronize(ctx, stream) result(status) bind(c)
      import
      type(c_ptr), value :: ctx, stream
      integer(c_int) :: status
    end function

    function spmm_engine_info(index, info) result(status) bind(c)
      import
      integer(c_int), value :: index
      type(spmm_component_info_t), intent(inout) :: info
      integer(c_int) :: status
    end function

    function spmm_transport_info(index, info) result(status) bind(c)
      import
      integer(c_int), value :: index
      type(spmm_component_info_t), intent(inout) :: info
      integer(c_int) :: status
    end function

    function spmm_partitioner_info(index, info) result(status) bind(c)
      import
      integer(c_int), value :: index
      type(spmm_component_info_t), intent(inout) :: info
      integer(c_int) :: status
    end function

    function spmm_schedule_info(index, info) result(status) bind(c)
      import
      integer(c_int), value :: index
      type(spmm_component_info_t), intent(inout) :: info
      integer(c_int) :: status
    end function
  end interface

  ! matrix.h
  interface
    function spmm_matrix_create_csr(ctx, n_rows, n_cols, row_ptr, col_idx, values, type, A) &
      result(status) bind(c)
      import
      type(c_ptr), value :: ctx
      integer(c_int64_t), value :: n_rows, n_cols
      integer(c_int64_t), intent(in) :: row_ptr(*), col_idx(*)
      type(c_ptr), value :: values
      integer(c_int), value :: type
      type(c_ptr), intent(inout) :: A
      integer(c_int) :: status
    end function

    function spmm_matrix_create_csr32(ctx, n_rows, n_cols, row_ptr, col_idx, values, type, A) &
      result(status) bind(c)
      import
      type(c_ptr), value :: ctx
      integer(c_int64_t), value :: n_rows, n_cols
      integer(c_int32_t), intent(in) :: row_ptr(*), col_idx(*)
      type(c_ptr), value :: values
      integer(c_int), value :: type
      type(c_ptr), intent(inout) :: A
      integer(c_int) :: status
    end function

    function spmm_matrix_create_cvse(ctx, n_rows, n_cols, vector, width, block_ptr, col_idx, &
      values, type, A) result(status) bind(c)
      import
      type(c_ptr), value :: ctx
      integer(c_int64_t), value :: n_rows, n_cols, vector, width
      integer(c_int64_t), intent(in) :: block_ptr(*), col_idx(*)
      type(c_ptr), value :: values
      integer(c_int), value :: type
      type(c_ptr), intent(inout) :: A
      integer(c_int) :: status
    end function

    function spmm_matrix_read(ctx, path, type, seed, A) result(status) bind(c)
      import
      type(c_ptr), value :: ctx
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: type
      integer(c_int64_t), value :: seed
      type(c_ptr), intent(inout) :: A
      integer(c_int) :: status
    end function

    function spmm_matrix_write(A, path, format) result(status) bind(c)
      import
      type(c_ptr), value :: A
      character(kind=c_char), intent(in) :: path(*)
      character(kind=c_char), intent(in) :: format(*)
      integer(c_int) :: status
    end function

    function spmm_matrix_generate(ctx, spec, type, seed, A) result(status) bind(c)
      import
      type(c_ptr), value :: ctx
      character(kind=c_char), intent(in) :: spec(*)
      integer(c_int), value :: type
      integer(c_int64_t), value :: seed
      type(c_ptr), intent(inout) :: A
      integer(c_int) :: status
    end function

    function spmm_matrix_update_values(A, values) result(status) bind(c)
      import
      type(c_ptr), value :: A, values
      integer(c_int) :: status
    end function

    function spmm_matrix_get_info(A, info) result(status) bind(c)
      import
      type(c_ptr), value :: A
      type(spmm_matrix_info_t), intent(inout) :: info
      integer(c_int) :: status
    end function

    function spmm_matrix_get_csr(A, row_ptr, col_idx, values) result(status) bind(c)
      import
      type(c_ptr), value :: A
      type(c_ptr), intent(inout) :: row_ptr, col_idx, values
      integer(c_int) :: status
    end function

    function spmm_matrix_drop_entries(A) result(status) bind(c)
      import
      type(c_ptr), value :: A
      integer(c_int) :: status
    end function

    function spmm_matrix_destroy(A) result(status) bind(c)
      import
      type(c_ptr), intent(inout) :: A
      integer(c_int) :: status
    end function
  end interface

  ! plan.h
  interface
    function spmm_plan_create(A, n, options, plan) result(status) bind(c)
      import
      type(c_ptr), value :: A
      integer(c_int64_t), value :: n
      type(spmm_plan_options_t), intent(in), optional, target :: options
      type(c_ptr), intent(inout) :: plan
      integer(c_int) :: status
    end function

    function spmm_execute(plan, n, alpha, B, ldb, beta, C, ldc, stream) result(status) bind(c)
      import
      type(c_ptr), value :: plan
      integer(c_int64_t), value :: n
      real(c_double), value :: alpha
      type(c_ptr), value :: B
      integer(c_int64_t), value :: ldb
      real(c_double), value :: beta
      type(c_ptr), value :: C
      integer(c_int64_t), value :: ldc
      type(c_ptr), value :: stream
      integer(c_int) :: status
    end function

    !> alpha and beta: c_loc() of a real or, for a complex A, complex number
    function spmm_execute_scaled(plan, n, alpha, B, ldb, beta, C, ldc, stream) &
      result(status) bind(c)
      import
      type(c_ptr), value :: plan
      integer(c_int64_t), value :: n
      type(c_ptr), value :: alpha, B
      integer(c_int64_t), value :: ldb
      type(c_ptr), value :: beta, C
      integer(c_int64_t), value :: ldc
      type(c_ptr), value :: stream
      integer(c_int) :: status
    end function

    function spmm_plan_resync(plan) result(status) bind(c)
      import
      type(c_ptr), value :: plan
      integer(c_int) :: status
    end function

    function spmm_plan_update_values(plan, values, stream) result(status) bind(c)
      import
      type(c_ptr), value :: plan, values, stream
      integer(c_int) :: status
    end function

    function spmm_plan_get_layout(plan, operand, info) result(status) bind(c)
      import
      type(c_ptr), value :: plan
      integer(c_int), value :: operand
      type(spmm_layout_info_t), intent(inout) :: info
      integer(c_int) :: status
    end function

    function spmm_plan_scatter(plan, operand, n, src, ld_src, dst, ld_dst, stream) &
      result(status) bind(c)
      import
      type(c_ptr), value :: plan
      integer(c_int), value :: operand
      integer(c_int64_t), value :: n
      type(c_ptr), value :: src
      integer(c_int64_t), value :: ld_src
      type(c_ptr), value :: dst
      integer(c_int64_t), value :: ld_dst
      type(c_ptr), value :: stream
      integer(c_int) :: status
    end function

    function spmm_plan_gather(plan, operand, n, src, ld_src, dst, ld_dst, stream) result(status) &
      bind(c)
      import
      type(c_ptr), value :: plan
      integer(c_int), value :: operand
      integer(c_int64_t), value :: n
      type(c_ptr), value :: src
      integer(c_int64_t), value :: ld_src
      type(c_ptr), value :: dst
      integer(c_int64_t), value :: ld_dst
      type(c_ptr), value :: stream
      integer(c_int) :: status
    end function

    function spmm_plan_write_partition(plan, path) result(status) bind(c)
      import
      type(c_ptr), value :: plan
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int) :: status
    end function

    function spmm_plan_get_stats(plan, stats) result(status) bind(c)
      import
      type(c_ptr), value :: plan
      type(spmm_plan_stats_t), intent(inout) :: stats
      integer(c_int) :: status
    end function

    function spmm_plan_get_timeline(plan, capacity, spans, count) result(status) bind(c)
      import
      type(c_ptr), value :: plan
      integer(c_int), value :: capacity
      type(spmm_span_t), intent(inout) :: spans(*)
      integer(c_int), intent(inout) :: count
      integer(c_int) :: status
    end function

    function spmm_matrix_scale(A, n, options, info) result(status) bind(c)
      import
      type(c_ptr), value :: A
      integer(c_int64_t), value :: n
      type(spmm_scale_options_t), intent(in), optional, target :: options
      type(spmm_scale_info_t), intent(inout) :: info
      integer(c_int) :: status
    end function

    function spmm_plan_get_traffic(plan, rows) result(status) bind(c)
      import
      type(c_ptr), value :: plan
      integer(c_int64_t), intent(inout) :: rows(*)
      integer(c_int) :: status
    end function

    function spmm_plan_get_halo(plan, rows) result(status) bind(c)
      import
      type(c_ptr), value :: plan
      integer(c_int64_t), intent(inout) :: rows(*)
      integer(c_int) :: status
    end function

    function spmm_plan_explain(plan, path) result(status) bind(c, name='spmm_plan_explain_f')
      import
      type(c_ptr), value :: plan
      character(kind=c_char), intent(in) :: path(*) ! appended to
      integer(c_int) :: status
    end function

    function spmm_plan_destroy(plan) result(status) bind(c)
      import
      type(c_ptr), intent(inout) :: plan
      integer(c_int) :: status
    end function
  end interface

  ! sddmm.h
  interface
    function spmm_sddmm_plan_create(mask, k, options, plan) result(status) bind(c)
      import
      type(c_ptr), value :: mask
      integer(c_int64_t), value :: k
      type(spmm_sddmm_options_t), intent(in), optional, target :: options
      type(c_ptr), intent(inout) :: plan
      integer(c_int) :: status
    end function

    function spmm_sddmm(plan, k, alpha, X, ldx, Y, ldy, beta, S, stream) result(status) bind(c)
      import
      type(c_ptr), value :: plan
      integer(c_int64_t), value :: k
      real(c_double), value :: alpha
      type(c_ptr), value :: X
      integer(c_int64_t), value :: ldx
      type(c_ptr), value :: Y
      integer(c_int64_t), value :: ldy
      real(c_double), value :: beta
      type(c_ptr), value :: S, stream
      integer(c_int) :: status
    end function

    function spmm_sddmm_softmax(plan, scale, S, P, stream) result(status) bind(c)
      import
      type(c_ptr), value :: plan
      real(c_double), value :: scale
      type(c_ptr), value :: S, P, stream
      integer(c_int) :: status
    end function

    function spmm_sddmm_plan_get_info(plan, info) result(status) bind(c)
      import
      type(c_ptr), value :: plan
      type(spmm_sddmm_info_t), intent(inout) :: info
      integer(c_int) :: status
    end function

    function spmm_sddmm_plan_destroy(plan) result(status) bind(c)
      import
      type(c_ptr), intent(inout) :: plan
      integer(c_int) :: status
    end function
  end interface

  ! attention.h
  interface
    function spmm_attention_plan_create(mask, heads, k, options, plan) result(status) bind(c)
      import
      type(c_ptr), value :: mask
      integer(c_int64_t), value :: heads, k
      type(spmm_attention_options_t), intent(in), optional, target :: options
      type(c_ptr), intent(inout) :: plan
      integer(c_int) :: status
    end function

    function spmm_attention(plan, scale, Q, ldq, K, ldk, V, ldv, O, ldo, lse, stream) &
        result(status) bind(c)
      import
      type(c_ptr), value :: plan
      real(c_double), value :: scale
      type(c_ptr), value :: Q
      integer(c_int64_t), value :: ldq
      type(c_ptr), value :: K
      integer(c_int64_t), value :: ldk
      type(c_ptr), value :: V
      integer(c_int64_t), value :: ldv
      type(c_ptr), value :: O
      integer(c_int64_t), value :: ldo
      type(c_ptr), value :: lse, stream
      integer(c_int) :: status
    end function

    function spmm_attention_backward(plan, scale, Q, ldq, K, ldk, V, ldv, O, dO, ldo, lse, dQ, dK, &
        dV, stream) result(status) bind(c)
      import
      type(c_ptr), value :: plan
      real(c_double), value :: scale
      type(c_ptr), value :: Q
      integer(c_int64_t), value :: ldq
      type(c_ptr), value :: K
      integer(c_int64_t), value :: ldk
      type(c_ptr), value :: V
      integer(c_int64_t), value :: ldv
      type(c_ptr), value :: O, dO
      integer(c_int64_t), value :: ldo
      type(c_ptr), value :: lse, dQ, dK, dV, stream
      integer(c_int) :: status
    end function

    function spmm_attention_plan_get_info(plan, info) result(status) bind(c)
      import
      type(c_ptr), value :: plan
      type(spmm_attention_info_t), intent(inout) :: info
      integer(c_int) :: status
    end function

    function spmm_attention_plan_destroy(plan) result(status) bind(c)
      import
      type(c_ptr), intent(inout) :: plan
      integer(c_int) :: status
    end function
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
