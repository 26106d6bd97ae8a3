! SPDX-License-Identifier: Apache-2.0
!> @file 06_fortran.f90
!> The library from Fortran: every rank makes its rows of the 1D Laplacian (-1, 2, -1) and
!> multiplies B(rows, columns), a column-major array as Fortran has them.  Column j of B is
!> eigenvector j with eigenvalue l = 2 - 2 cos(j pi / (rows + 1)), so C = A * B must be l * B.
!>
!>     mpirun -n 4 06_fortran
program fortran_example
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use mpi
  use spmm_dist
  implicit none
  integer(c_int64_t), parameter :: m = 2500, columns = 16 ! rows of this rank, columns of B and C
  real(c_double), parameter     :: pi = acos(-1.0_c_double)
  integer(c_size_t), parameter  :: bytes = 8 * m * columns

  type(c_ptr) :: ctx = c_null_ptr, A = c_null_ptr, plan = c_null_ptr ! handles
  type(c_ptr) :: device_B = c_null_ptr, device_C = c_null_ptr
  type(spmm_plan_options_t)  :: options ! initialised: "choose for me" in every field
  integer(c_int64_t)         :: row_ptr(m + 1), col_idx(3 * m), first, rows, i, j
  real(c_double), target     :: values(3 * m) ! c_loc() takes targets
  real(c_double), allocatable, target :: B(:, :), C(:, :)
  real(c_double) :: eigenvalue, error
  integer        :: rank, ranks, ierror

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  first = rank * m ! global rows and columns count from 0
  rows = ranks * m
  allocate (B(m, columns), C(m, columns))

  row_ptr(1) = 0
  do i = 1, m
    row_ptr(i + 1) = row_ptr(i)
    do j = first + i - 2, first + i
      if (j >= 0 .and. j < rows) then
        row_ptr(i + 1) = row_ptr(i + 1) + 1
        col_idx(row_ptr(i + 1)) = j
        values(row_ptr(i + 1)) = merge(2.0_c_double, -1.0_c_double, j == first + i - 1)
      end if
    end do
  end do
  do j = 1, columns
    do i = 1, m
      B(i, j) = sin(real((first + i) * j, c_double) * pi / real(rows + 1, c_double))
    end do
  end do

  ! With mpi_f08 the communicator is MPI_COMM_WORLD%MPI_VAL.  An absent option is NULL in C.
  call check(spmm_context_create(MPI_COMM_WORLD, ctx=ctx))
  call check(spmm_matrix_create_csr(ctx, m, m, row_ptr, col_idx, c_loc(values), SPMM_R_64F, A))
  options%layout = SPMM_LAYOUT_COL
  call check(spmm_plan_create(A, columns, options, plan))

  call check(spmm_buffer_alloc(ctx, bytes, device_B)) ! GPU memory where the context has GPUs
  call check(spmm_buffer_alloc(ctx, bytes, device_C))
  call check(spmm_buffer_copy(ctx, device_B, c_loc(B), bytes))
  call check(spmm_execute(plan, columns, 1.0_c_double, device_B, m, 0.0_c_double, device_C, m, &
                          c_null_ptr))
  call check(spmm_stream_synchronize(ctx, c_null_ptr))
  call check(spmm_buffer_copy(ctx, c_loc(C), device_C, bytes))

  do j = 1, columns
    eigenvalue = 2 - 2 * cos(real(j, c_double) * pi / real(rows + 1, c_double))
    C(:, j) = C(:, j) - eigenvalue * B(:, j)
  end do
  error = maxval(abs(C))
  call MPI_Allreduce(MPI_IN_PLACE, error, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierror)
  if (rank == 0) print '(i0, a, i0, a, es7.1)', rows, ' rows on ', ranks, &
    ' ranks: |A B - l B| = ', error

  call check(spmm_buffer_free(ctx, device_B))
  call check(spmm_buffer_free(ctx, device_C))
  call check(spmm_plan_destroy(plan))
  call check(spmm_matrix_destroy(A))
  call check(spmm_context_destroy(ctx))
  call MPI_Finalize(ierror)
  if (.not. error < 1e-12_c_double) stop 1

contains

  ! Every rank sees the same status, so all of them come here together.
  subroutine check(status)
    integer(c_int), intent(in) :: status

    if (status == SPMM_OK) return
    if (rank == 0) write (error_unit, '(a)') spmm_string(spmm_last_error(ctx))
    call MPI_Finalize(ierror)
    stop 1
  end subroutine
end program
