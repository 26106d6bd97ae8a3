! SPDX-License-Identifier: Apache-2.0
!> The module on any number of ranks, on CPUs: products against sums over a matrix that every rank
!> knows,
!> indices of 64 and 32 bits, options, texts, errors.
program test_fortran
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use mpi_f08
  use spmm_dist
  implicit none
  real(c_double), parameter :: alpha = 1.5_c_double, beta = -0.5_c_double, guard = -99.0_c_double

  type(c_ptr)        :: ctx = c_null_ptr
  integer            :: rank, ranks
  integer(c_int64_t) :: first(0:1), mine(0:1), total(0:1) ! rows and columns of A, from 0

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call share()
  call test_context()
  call test_products()
  call test_complex()
  call test_partition()
  call test_sddmm()
  call test_wide_indices()
  call test_errors()
  call ok(spmm_context_destroy(ctx), 'spmm_context_destroy')
  call expect(.not. c_associated(ctx), 'a destroyed context is c_null_ptr')
  call MPI_Finalize()

contains

  subroutine expect(holds, what)
    logical, intent(in)          :: holds
    character(len=*), intent(in) :: what

    if (holds) return
    write (error_unit, '(a, i0, 4a)') 'rank ', rank, ': not so: ', what, ': ', &
      spmm_string(spmm_last_error(ctx))
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  subroutine ok(status, what)
    integer(c_int), intent(in)   :: status
    character(len=*), intent(in) :: what

    call expect(status == SPMM_OK, what)
  end subroutine

  !> Rank r has 6 + r rows and 5 + 2 r columns of A, but rank 1 none.
  subroutine share()
    integer(c_int64_t) :: r, part(0:1)

    total = 0
    do r = 0, ranks - 1
      part = merge(0_c_int64_t, [6 + r, 5 + 2*r], r == 1)
      if (r == rank) first = total
      if (r == rank) mine = part
      total = total + part
    end do
  end subroutine

  !> c_loc(), which is not for arrays of size zero.
  type(c_ptr) function at(x)
    real(c_double), intent(in), target, contiguous :: x(:, :)

    at = c_null_ptr
    if (size(x) > 0) at = c_loc(x)
  end function

  !> Entry (i, j) of A, from 0; 0 where there is none.
  pure real(c_double) function entry(i, j)
    integer(c_int64_t), intent(in) :: i, j

    entry = 0
    if (mod(7*i + 3*j, 5_c_int64_t) < 2) entry = 1.0_c_double / real(1 + mod(i + 2*j, 11_c_int64_t))
  end function

  pure real(c_double) function dense(i, j)
    integer(c_int64_t), intent(in) :: i, j

    dense = sin(real(3*i + 5*j, c_double))
  end function

  !> Row i of alpha op(A) B + beta C, of which B and C begin as dense().
  pure real(c_double) function wanted(op, i, j)
    integer(c_int), intent(in)     :: op
    integer(c_int64_t), intent(in) :: i, j
    integer(c_int64_t)             :: k

    wanted = beta * dense(i, j)
    do k = 0, total(1 - op) - 1
      wanted = wanted + alpha * merge(entry(k, i), entry(i, k), op == SPMM_OP_T) * dense(k, j)
    end do
  end function

  !> A by 64-bit indices, or by 32-bit ones.
  subroutine make(A, narrow)
    type(c_ptr), intent(inout) :: A
    logical, intent(in)        :: narrow
    integer(c_int64_t)         :: row_ptr(mine(0) + 1), col_idx(mine(0) * total(1)), i, j, e
    real(c_double), target     :: values(mine(0) * total(1))
    type(c_ptr)                :: values_at

    e = 0
    do i = 1, mine(0)
      row_ptr(i) = e
      do j = 0, total(1) - 1
        if (abs(entry(first(0) + i - 1, j)) > 0) then
          e = e + 1
          col_idx(e) = j
          values(e) = entry(first(0) + i - 1, j)
        end if
      end do
    end do
    row_ptr(mine(0) + 1) = e
    values_at = c_null_ptr
    if (e > 0) values_at = c_loc(values)
    if (narrow) then
      call ok(spmm_matrix_create_csr32(ctx, mine(0), mine(1), int(row_ptr, c_int32_t), &
              int(col_idx(1:e), c_int32_t), values_at, SPMM_R_64F, A), 'create_csr32')
    else
      call ok(spmm_matrix_create_csr(ctx, mine(0), mine(1), row_ptr, col_idx, values_at, &
                                     SPMM_R_64F, A), 'create_csr')
    end if
  end subroutine

  subroutine log_line(user, line) bind(c)
    type(c_ptr), value        :: user, line
    integer(c_int), pointer   :: count
    character(:), allocatable :: text

    call c_f_pointer(user, count)
    text = spmm_string(line)
    if (index(text, 'rank ') > 0 .and. index(text, ' on ') > 0) count = count + 1
  end subroutine

  subroutine test_context()
    type(spmm_context_options_t)     :: options
    type(spmm_context_info_t)        :: info
    type(spmm_plan_options_t)        :: plan_options
    type(spmm_plan_stats_t)          :: stats
    type(spmm_component_info_t)      :: engine
    integer(c_int), target           :: logged
    type(c_ptr)                      :: none

    none = c_null_ptr
    call expect(spmm_context_create(MPI_COMM_NULL%MPI_VAL, ctx=none) == SPMM_ERR_ARGUMENT, &
                'MPI_COMM_NULL is refused')
    call expect(index(spmm_string(spmm_last_error(c_null_ptr)), 'pass a communicator') > 0, &
                'with a sentence')
    call expect(.not. c_associated(none), 'and no context is made')

    logged = 0
    options%device = SPMM_DEVICE_CPU
    options%log = c_funloc(log_line)
    options%log_user = c_loc(logged)
    call ok(spmm_context_create(MPI_COMM_WORLD%MPI_VAL, options, ctx), 'spmm_context_create')
    call expect(logged > 0, 'the context was logged')
    call ok(spmm_context_destroy(ctx), 'spmm_context_destroy')
    options%log = c_null_funptr
    call ok(spmm_context_create(MPI_COMM_WORLD%MPI_VAL, options, ctx), 'spmm_context_create')
    call ok(spmm_context_get_info(ctx, info), 'spmm_context_get_info')
    call expect(info%rank == rank .and. info%size == ranks, 'rank and size')
    call expect(spmm_string(info%device) == 'cpu', 'the device')
    call ok(spmm_engine_info(0, engine), 'spmm_engine_info')
    call expect(len(spmm_string(engine%description)) > 0, 'an engine has a description')
    call expect(c_sizeof(options) == options%struct_size, 'bytes of options of a context')
    call expect(c_sizeof(plan_options) == plan_options%struct_size, 'bytes of options of a plan')
    call expect(c_sizeof(stats) == stats%struct_size, 'bytes of stats')
    call expect(spmm_type_size(SPMM_R_16BF) == 2, 'bytes of bfloat16')
    call expect(index(spmm_string(spmm_version()), '.') > 0, 'the version')
    call expect(spmm_string(c_null_ptr) == '', 'no text')
  end subroutine

  !> Both ops, both layouts: B(ld, n) in column-major order, B(ld, rows) in row-major order.
  subroutine test_products()
    type(spmm_plan_options_t) :: options
    type(c_ptr)               :: A, plan
    integer(c_int)            :: op, layout
    integer                   :: narrow

    do narrow = 0, 1
      A = c_null_ptr
      call make(A, narrow == 1)
      do layout = SPMM_LAYOUT_ROW, SPMM_LAYOUT_COL
        do op = SPMM_OP_N, SPMM_OP_T
          options%layout = layout
          options%op = op
          plan = c_null_ptr
          call ok(spmm_plan_create(A, 4_c_int64_t, options, plan), 'spmm_plan_create')
          call multiply(plan, op, layout, 4_c_int64_t)
          call multiply(plan, op, layout, 3_c_int64_t)
          call ok(spmm_plan_destroy(plan), 'spmm_plan_destroy')
        end do
      end do
      call ok(spmm_matrix_destroy(A), 'spmm_matrix_destroy')
    end do
  end subroutine

  subroutine multiply(plan, op, layout, n)
    type(c_ptr), intent(in)             :: plan
    integer(c_int), intent(in)          :: op, layout
    integer(c_int64_t), intent(in)      :: n
    real(c_double), allocatable, target :: B(:, :), C(:, :)
    integer(c_int64_t)                  :: i, j
    real(c_double)                      :: got

    if (layout == SPMM_LAYOUT_COL) then
      allocate (B(mine(1 - op) + 3, n), C(mine(op) + 2, n))
    else
      allocate (B(n + 3, mine(1 - op)), C(n + 2, mine(op)))
    end if
    B = guard
    C = guard
    do j = 1, n
      if (layout == SPMM_LAYOUT_COL) then
        B(:mine(1 - op), j) = [(dense(first(1 - op) + i - 1, j - 1), i = 1, mine(1 - op))]
        C(:mine(op), j) = [(dense(first(op) + i - 1, j - 1), i = 1, mine(op))]
      else
        B(j, :) = [(dense(first(1 - op) + i - 1, j - 1), i = 1, mine(1 - op))]
        C(j, :) = [(dense(first(op) + i - 1, j - 1), i = 1, mine(op))]
      end if
    end do
    call ok(spmm_execute(plan, n, alpha, at(B), size(B, 1, c_int64_t), beta, at(C), &
                         size(C, 1, c_int64_t), c_null_ptr), 'spmm_execute')
    call ok(spmm_stream_synchronize(ctx, c_null_ptr), 'spmm_stream_synchronize')
    do j = 1, n
      do i = 1, mine(op)
        got = C(merge(i, j, layout == SPMM_LAYOUT_COL), merge(j, i, layout == SPMM_LAYOUT_COL))
        call expect(abs(got - wanted(op, first(op) + i - 1, j - 1)) < 1e-12_c_double, 'the product')
      end do
    end do
    i = merge(mine(op), n, layout == SPMM_LAYOUT_COL)
    call expect(all(abs(C(i + 1:, :) - guard) <= 0), 'what is below ldc stays')
  end subroutine

  !> The conjugate transpose of i times the identity, times i.
  subroutine test_complex()
    complex(c_double_complex), target :: values(1) = (0, 1), factors(2) = [(0, 1), (0, 0)]
    complex(c_double_complex), target :: B(1), C(1)
    type(spmm_plan_options_t)         :: options
    type(c_ptr)                       :: A, plan

    B = cmplx(rank + 1, 2, c_double_complex)
    options%op = SPMM_OP_H
    call ok(spmm_matrix_create_csr(ctx, 1_c_int64_t, 1_c_int64_t, [0_c_int64_t, 1_c_int64_t], &
            [int(rank, c_int64_t)], c_loc(values), SPMM_C_64F, A), 'create_csr of complex values')
    call ok(spmm_plan_create(A, 1_c_int64_t, options, plan), 'spmm_plan_create')
    call ok(spmm_execute_scaled(plan, 1_c_int64_t, c_loc(factors(1)), c_loc(B), 1_c_int64_t, &
                                c_loc(factors(2)), c_loc(C), 1_c_int64_t, c_null_ptr), &
            'spmm_execute_scaled')
    call expect(abs(C(1) - B(1)) < 1e-14_c_double, 'the complex product')
    call ok(spmm_plan_destroy(plan), 'spmm_plan_destroy')
    call ok(spmm_matrix_destroy(A), 'spmm_matrix_destroy')
  end subroutine

  !> Options with texts; the plan's own layout; stats and time line.
  subroutine test_partition()
    character(kind=c_char, len=*), parameter :: block_text = 'block'//c_null_char
    character(kind=c_char, len=6), target    :: partition
    type(spmm_plan_options_t)     :: options
    type(spmm_layout_info_t)      :: rows_B, rows_C
    type(spmm_matrix_info_t)      :: info
    type(spmm_plan_stats_t)       :: stats
    type(spmm_span_t)             :: spans(SPMM_MOST_SPANS)
    type(c_ptr)                   :: A, plan
    integer(c_int64_t), parameter :: n = 2
    integer(c_int64_t), pointer   :: row(:)
    real(c_double), allocatable, target :: given(:, :), B(:, :), C(:, :)
    integer(c_int64_t) :: i, j, traffic(ranks)
    integer(c_int64_t), allocatable :: halo(:)
    integer(c_int)     :: count

    A = c_null_ptr
    plan = c_null_ptr
    count = 0
    call make(A, .false.)
    call ok(spmm_matrix_get_info(A, info), 'spmm_matrix_get_info')
    call expect(all([info%rows, info%cols] == total), 'the shape')
    call expect(all([info%first_row, info%first_col] == first), 'the first row and column')
    call expect(all([info%local_rows, info%local_cols] == mine), 'the local shape')
    partition = block_text
    options%partition = c_loc(partition)
    options%layout = SPMM_LAYOUT_COL
    options%profile = 1
    call ok(spmm_plan_create(A, n, options, plan), 'spmm_plan_create')
    call ok(spmm_plan_get_layout(plan, SPMM_OPERAND_B, rows_B), 'spmm_plan_get_layout')
    call ok(spmm_plan_get_layout(plan, SPMM_OPERAND_C, rows_C), 'spmm_plan_get_layout')
    call expect(rows_B%original_rows == mine(1), 'original rows')
    allocate (given(mine(1), n), B(rows_B%local_rows + 1, n), C(rows_C%local_rows + 1, n))
    do j = 1, n
      given(:, j) = [(dense(first(1) + i - 1, j - 1), i = 1, mine(1))]
    end do
    B = guard
    call ok(spmm_plan_scatter(plan, SPMM_OPERAND_B, n, at(given), max(1_c_int64_t, mine(1)), &
                              at(B), size(B, 1, c_int64_t), c_null_ptr), 'spmm_plan_scatter')
    call ok(spmm_execute(plan, n, 1.0_c_double, at(B), size(B, 1, c_int64_t), 0.0_c_double, &
                         at(C), size(C, 1, c_int64_t), c_null_ptr), 'spmm_execute')
    call c_f_pointer(rows_C%global_row, row, [rows_C%local_rows])
    do j = 1, n
      do i = 1, rows_C%local_rows
        call expect(abs(alpha * C(i, j) + beta * dense(row(i), j - 1) &
                        - wanted(SPMM_OP_N, row(i), j - 1)) < 1e-12_c_double, &
                        'a partitioned product')
      end do
    end do
    call ok(spmm_plan_get_stats(plan, stats), 'spmm_plan_get_stats')
    call expect(spmm_string(stats%partition) == 'block', 'the partition')
    call expect(stats%imbalance >= 1 .and. stats%total_s >= 0, 'the statistics')
    call ok(spmm_plan_get_traffic(plan, traffic), 'spmm_plan_get_traffic')
    call expect(sum(traffic) == stats%halo_rows, 'the traffic')
    allocate(halo(stats%halo_rows))
    call ok(spmm_plan_get_halo(plan, halo), 'spmm_plan_get_halo')
    call expect(all(halo >= 0 .and. halo < info%cols), 'the halo')
    call ok(spmm_plan_get_timeline(plan, SPMM_MOST_SPANS, spans, count), 'spmm_plan_get_timeline')
    call expect(count > 0, 'the time line')
    call expect(all(spans(:count)%to_s >= spans(:count)%from_s), 'its times')
    call ok(spmm_plan_explain(plan, '/dev/null'//c_null_char), 'spmm_plan_explain')
    call ok(spmm_plan_destroy(plan), 'spmm_plan_destroy')
    call ok(spmm_matrix_destroy(A), 'spmm_matrix_destroy')
  end subroutine

  !> S = X Y^T at the entries; X and Y are row-major: X(k, rows).
  subroutine test_sddmm()
    integer(c_int64_t), parameter       :: k = 3
    type(spmm_sddmm_info_t)             :: info
    type(c_ptr)                         :: A, plan
    real(c_double), allocatable, target :: X(:, :), Y(:, :), S(:, :)
    real(c_double)                      :: sum_s
    integer(c_int64_t)                  :: i, j, l, e

    A = c_null_ptr
    plan = c_null_ptr
    call make(A, .false.)
    allocate (X(k, mine(0)), Y(k, mine(1)), S(mine(0) * total(1), 1))
    do l = 1, k
      X(l, :) = [(dense(first(0) + i - 1, l), i = 1, mine(0))]
      Y(l, :) = [(dense(first(1) + j - 1, 2*l), j = 1, mine(1))]
    end do
    call ok(spmm_sddmm_plan_create(A, k, plan=plan), 'spmm_sddmm_plan_create')
    call ok(spmm_sddmm(plan, k, 2.0_c_double, at(X), k, at(Y), k, 0.0_c_double, at(S), &
                       c_null_ptr), 'spmm_sddmm')
    e = 0
    do i = 0, mine(0) - 1
      do j = 0, total(1) - 1
        if (abs(entry(first(0) + i, j)) > 0) then
          e = e + 1
          sum_s = 0
          do l = 1, k
            sum_s = sum_s + 2 * dense(first(0) + i, l) * dense(j, 2*l)
          end do
          call expect(abs(S(e, 1) - sum_s) < 1e-12_c_double, 'the sampled product')
        end if
      end do
    end do
    call ok(spmm_sddmm_plan_get_info(plan, info), 'spmm_sddmm_plan_get_info')
    call expect(spmm_string(info%kernel) == 'csr', 'its kernel')
    call ok(spmm_sddmm_plan_destroy(plan), 'spmm_sddmm_plan_destroy')
    call ok(spmm_matrix_destroy(A), 'spmm_matrix_destroy')
  end subroutine

  !> One row a rank with one entry, in the last of so many columns that 32 bits do not count them.
  subroutine test_wide_indices()
    integer(c_int64_t), parameter :: columns = 2_c_int64_t**31 - 1
    real(c_double), target        :: values(1)
    type(spmm_matrix_info_t)      :: info
    type(c_ptr)                   :: A, row_ptr, col_idx, held
    integer(c_int64_t), pointer   :: column(:)

    A = c_null_ptr
    values = 4
    call ok(spmm_matrix_create_csr(ctx, 1_c_int64_t, columns, [0_c_int64_t, 1_c_int64_t], &
                                   [ranks * columns - 1], c_loc(values), SPMM_R_64F, A), &
                                   'create_csr')
    call ok(spmm_matrix_get_info(A, info), 'spmm_matrix_get_info')
    call expect(info%cols == ranks * columns .and. info%local_nnz == 1, 'columns past 2^31')
    call ok(spmm_matrix_get_csr(A, row_ptr, col_idx, held), 'spmm_matrix_get_csr')
    call c_f_pointer(col_idx, column, [1])
    call expect(column(1) == ranks * columns - 1, 'an index past 2^31')
    call ok(spmm_matrix_destroy(A), 'spmm_matrix_destroy')
  end subroutine

  subroutine test_errors()
    character(kind=c_char, len=8), target :: engine
    character(:), allocatable             :: text
    type(spmm_plan_options_t)             :: options
    type(c_ptr)                           :: A, plan

    A = c_null_ptr
    plan = c_null_ptr
    call expect(spmm_matrix_read(ctx, '/nonexistent.mtx'//c_null_char, SPMM_R_64F, 0_c_int64_t, A) &
                == SPMM_ERR_IO, 'a missing file is refused')
    text = spmm_string(spmm_last_error(ctx))
    call expect(index(text, '/nonexistent.mtx') > 0 .and. len_trim(text) == len(text), 'and named')
    call expect(.not. c_associated(A), 'no matrix is made')
    call ok(spmm_matrix_generate(ctx, 'uniform:rows=30,cols=30,degree=2'//c_null_char, SPMM_R_64F, &
                                 7_c_int64_t, A), 'spmm_matrix_generate')
    call expect(spmm_string(spmm_last_error(ctx)) == '', 'a success leaves no sentence')
    engine = 'nosuch'//c_null_char
    options%engine = c_loc(engine)
    call expect(spmm_plan_create(A, 1_c_int64_t, options, plan) /= SPMM_OK, 'an engine is unknown')
    call expect(index(spmm_string(spmm_last_error(ctx)), 'nosuch') > 0, 'and named')
    options = spmm_plan_options_t(struct_size=options%struct_size + 8)
    call expect(spmm_plan_create(A, 1_c_int64_t, options, plan) == SPMM_ERR_ARGUMENT, &
                'options of another library are refused')
    call ok(spmm_plan_create(A, 2_c_int64_t, plan=plan), 'spmm_plan_create')
    call expect(spmm_execute(plan, 7_c_int64_t, 1.0_c_double, c_null_ptr, 7_c_int64_t, &
                             0.0_c_double, &
                c_null_ptr, 7_c_int64_t, c_null_ptr) == SPMM_ERR_ARGUMENT, 'too many columns')
    call expect(index(spmm_string(spmm_last_error(ctx)), 'n is 7') > 0, 'are counted')
    call expect(len(spmm_string(spmm_status_string(SPMM_ERR_RANGE))) > 0, 'a status has a text')
    call ok(spmm_plan_destroy(plan), 'spmm_plan_destroy')
    call expect(.not. c_associated(plan), 'a destroyed plan is c_null_ptr')
    call ok(spmm_matrix_destroy(A), 'spmm_matrix_destroy')
  end subroutine
end program
