"""Records what PyTorch's linear algebra gives and refuses. The cases have the form of the operator cases in test/data/oracle
(`lazuli test ops` runs them).

    record_linalg.py OUT      writes OUT.jsonl.gz and OUT.bin.gz

A case whose call PyTorch refuses, or that fails while it computes, has "error" instead of outputs. What depends on the choice
of a sign (vectors) is left to rules of the comparison, or is not recorded."""
import sys

import torch

from record_corners import Writer

F32, F64, INF = torch.float32, torch.float64, float("inf")


def matrix(*sizes, dt=F64, k=1):
    n = 1
    for s in sizes:
        n *= s
    return torch.tensor([((i * i * 37 + 11 * k * i + 5) % 101) / 50.0 - 1 for i in range(n)], dtype=dt).reshape(sizes)


def positive(*sizes, dt=F64):
    a = matrix(*sizes, dt=dt)
    return a @ a.mT + torch.eye(sizes[-1], dtype=dt)


def dominant(*sizes, dt=F64):
    return matrix(*sizes, dt=dt) + 3 * torch.eye(sizes[-1], dtype=dt)


SHAPES = [(3, 3), (5, 3), (3, 5), (2, 4, 4), (2, 1, 3, 2), (1, 1), (0, 3), (3, 0), (0, 0), (0, 2, 2), (2, 0, 0), (4,)]


def factorisations(w):
    for dt in (F64, F32):
        for s in SHAPES:
            a = matrix(*s, dt=dt)
            for name in ("linalg_lu_factor_ex", "linalg_lu_factor", "linalg_lu", "linalg_qr", "geqrf", "linalg_svdvals", "linalg_matrix_rank.atol_rtol_float",
                         "linalg_pinv.atol_rtol_float", "linalg_polar", "nuclear_norm"):
                w.case(name, a)
            for mode in ("complete", "r", "x"):
                w.case("linalg_qr", a, mode)
            w.case("linalg_svd", a, False)
            w.case("_linalg_svd", a, True, True)
            w.case("_linalg_svd", a, False, False)
            w.case("svd", a, True, False)
    for dt in (F64, F32):
        for s in ((3, 3), (2, 4, 4), (1, 1), (0, 0), (2, 0, 0), (0, 2, 2), (2, 3), (3,)):
            a = positive(*s, dt=dt) if s != (2, 3) and len(s) > 1 else matrix(*s, dt=dt)
            for name in ("linalg_cholesky", "linalg_cholesky_ex", "cholesky_inverse", "linalg_ldl_factor", "linalg_ldl_factor_ex", "linalg_eigvalsh", "linalg_eigh",
                         "linalg_inv", "linalg_inv_ex", "inverse", "linalg_det", "det", "linalg_slogdet", "slogdet", "logdet", "linalg_matrix_exp", "matrix_exp",
                         "linalg_matrix_sqrth", "_linalg_det", "_linalg_slogdet"):
                w.case(name, a)
            w.case("linalg_cholesky", a, upper=True)
            w.case("linalg_eigh", a, "U")
            w.case("linalg_eigvalsh", a.mT + matrix(*a.shape, dt=dt).tril(-1) if len(s) > 1 and s[-1] == s[-2] else a, "U")
            w.case("_linalg_eigh", a, "L", False)
            for n in (0, 1, 2, 5, -1, -2):
                w.case("linalg_matrix_power", a, n)
            w.case("linalg_pinv.atol_rtol_float", a, hermitian=True)
            w.case("linalg_matrix_rank.atol_rtol_float", a, hermitian=True)


def solvers(w):
    for a, b in (((3, 3), (3, 2)), ((3, 3), (3,)), ((2, 3, 3), (2, 3)), ((2, 3, 3), (3, 2)), ((3, 3), (2, 3, 2)), ((2, 1, 3, 3), (3, 3, 2)), ((2, 2, 2), (2, 2)),
                 ((0, 0), (0, 2)), ((3, 3), (3, 0)), ((3, 3), (4, 2)), ((2, 3), (2, 2)), ((2, 3, 3), (3, 3, 2))):
        square = a[-1] == a[-2]
        x, y = dominant(*a) if square else matrix(*a), matrix(*b, k=3)
        for name in ("linalg_solve", "linalg_solve_ex", "linalg_lstsq"):
            w.case(name, x, y)
        w.case("linalg_solve", x, y.mT if y.dim() > 1 else y, left=False)
        if y.dim() < 2 or not square:
            continue
        for upper in (False, True):
            w.case("linalg_solve_triangular", x, y, upper=upper)
            w.case("linalg_solve_triangular", x, y.mT, upper=upper, left=False)
            w.case("linalg_solve_triangular", x, y, upper=upper, unitriangular=True)
            w.case("triangular_solve", y, x, upper, not upper)
            w.case("cholesky_solve", y, x, upper)
        if x.shape[-1] != y.shape[-2]:
            continue
        lu, p = torch.linalg.lu_factor(x)
        for left in (True, False):
            for adjoint in (True, False):
                w.case("linalg_lu_solve", lu, p, y if left else y.mT, left=left, adjoint=adjoint)
        w.case("lu_unpack", lu, p, True, False)
        w.case("lu_unpack", lu, p, False, True)
        ld, p = torch.linalg.ldl_factor(x @ x.mT)
        if x.shape[:-2] == y.shape[:-2]:    # PyTorch 2.15 crashes on some others
            w.case("linalg_ldl_solve", ld, p, y)
    indefinite = torch.tensor([[0, 2, 1, 0], [2, 0, 0, 3], [1, 0, 1, 0], [0, 3, 0, 0.0]], dtype=F64)
    ld, p = torch.linalg.ldl_factor(indefinite)
    w.case("linalg_ldl_factor_ex", indefinite)
    w.case("linalg_ldl_solve", ld, p, matrix(4, 2))
    for s, t in (((5, 3), (5, 2)), ((3, 5), (3, 2)), ((2, 5, 3), (2, 5)), ((5, 3), (2, 5, 2)), ((4, 0), (4, 2)), ((4, 3), (4,)), ((4, 3), (5, 2))):
        for driver in ("gels", "gelsy", "gelsd", "gelss", "x"):
            if driver == "gelsy" or s[-1] > 0:
                w.case("linalg_lstsq", matrix(*s), matrix(*t, k=3), driver=driver)
    a = matrix(4, 3)
    a[:, 2] = a[:, 0] + a[:, 1]
    w.case("linalg_lstsq", a, matrix(4, 2, k=3), driver="gelsy")
    h, tau = torch.geqrf(matrix(2, 5, 3))
    w.case("linalg_householder_product", h, tau)
    w.case("orgqr", h[0], tau[0, :2])
    for left in (True, False):
        for transpose in (True, False):
            w.case("ormqr", h, tau, matrix(2, 5, 4) if left else matrix(2, 4, 5), left, transpose)
            w.case("ormqr", h, tau, matrix(2, 4, 4), left, transpose)


def norms(w):
    for dt in (F64, F32):
        for s in ((3, 3), (4, 2), (2, 3, 4), (2, 0), (0, 2), (3,), (0, 3, 3)):
            x = matrix(*s, dt=dt)
            for p in (1, -1, 2, -2, INF, -INF, 3):
                w.case("linalg_matrix_norm", x, p)
                w.case("linalg_norm", x, p)
                w.case("linalg_cond", x, p)
            for p in ("fro", "nuc", "x"):
                w.case("linalg_matrix_norm.str_ord", x, p)
                w.case("linalg_norm.ord_str", x, p)
                w.case("linalg_cond.p_str", x, p)
            w.case("linalg_cond", x)
            w.case("linalg_norm", x)
            w.case("linalg__powsum", x, 3, [-1])
            w.case("linalg__powsum", x, 2, None, True)
    x = matrix(2, 3, 4)
    for dim in ([0, 1], [2, 0], [-1, -3], [0, 0], [1], [0, 5]):
        w.case("linalg_matrix_norm", x, 1, dim, True)
        w.case("linalg_matrix_norm", x, 2, dim)
        w.case("linalg_matrix_norm.str_ord", x, "nuc", dim, True)
        w.case("linalg_norm", x, 2, dim)
        w.case("nuclear_norm.dim", x, dim[:2] if len(dim) == 2 else [0, 1], True)
    w.case("linalg_matrix_norm", matrix(2, 2, dt=F32), 1, dtype=F64)
    w.case("linalg_matrix_norm", matrix(2, 2), 1, dtype=F32)
    for p in (1, 2, -2, INF):
        w.case("linalg_cond", torch.zeros(2, 2, 2, dtype=F64), p)


def others(w):
    for atol, rtol in ((None, None), (0.5, None), (None, 0.5), (0.1, 0.2), (0.0, None)):
        for x in (matrix(3, 4), matrix(2, 3, 3)):
            w.case("linalg_matrix_rank.atol_rtol_float", x, atol=atol, rtol=rtol)
            w.case("linalg_pinv.atol_rtol_float", x, atol=atol, rtol=rtol)
            t = [None if v is None else torch.tensor(v, dtype=F64) for v in (atol, rtol)]
            w.case("linalg_matrix_rank.atol_rtol_tensor", x, atol=t[0], rtol=t[1])
            w.case("linalg_pinv.atol_rtol_tensor", x, atol=t[0], rtol=t[1])
    w.case("linalg_matrix_rank", matrix(3, 3), 0.7)
    w.case("linalg_matrix_rank.tol_tensor", matrix(2, 3, 3), torch.tensor([0.7, 0.1], dtype=F64))
    w.case("linalg_pinv", matrix(3, 2), 0.3)
    w.case("linalg_pinv.rcond_tensor", matrix(3, 2), torch.tensor(0.3, dtype=F64))
    w.case("pinverse", matrix(2, 3))
    for k in (0.01, 1.0, 30.0, -5.0):
        w.case("linalg_matrix_exp", matrix(4, 4) * k)
        w.case("linalg_matrix_exp", matrix(2, 3, 3, dt=F32) * k)
    w.case("linalg_matrix_exp", torch.tensor([[INF, 0], [0, 1]], dtype=F64))
    w.case("matrix_exp_backward", matrix(3, 3), matrix(3, 3, k=5))
    for ts in ([(2, 3), (3, 4)], [(3,), (3, 4), (4,)], [(2, 3), (3, 4), (4, 5), (5, 2)], [(10, 2), (2, 10), (10, 1)], [(2, 3)], [(2, 3), (2, 3)], [(2, 2, 2), (2, 2)],
               [(2, 2), (2,), (2, 2)], [(3,), (3, 2), (2, 2), (2,)]):
        w.case("linalg_multi_dot", [matrix(*s) for s in ts])
    for s, ind in (((2, 3, 6), 2), ((6, 2, 3), 1), ((2, 3, 5), 2), ((2, 2), 0)):
        w.case("linalg_tensorinv", matrix(*s) + (torch.eye(6, dtype=F64).reshape(s) if 6 in s else 0), ind)
    w.case("linalg_tensorsolve", matrix(2, 3, 6) + torch.eye(6, dtype=F64).reshape(2, 3, 6), matrix(2, 3))
    w.case("linalg_tensorsolve", (matrix(2, 6, 3) + torch.eye(6, dtype=F64).reshape(2, 6, 3)), matrix(2, 3), [1])
    w.case("linalg_tensorsolve", matrix(2, 3, 5), matrix(2, 3))
    for x, n in ((matrix(4), None), (matrix(2, 3), 5), (torch.arange(3), None), (matrix(3), 1), (torch.tensor(2.0), None), (torch.ones(3).bool(), None), (matrix(3).half(), 4)):
        w.case("linalg_vander", x, N=n)
    for name in ("linalg_cholesky", "linalg_lu_factor", "linalg_lu", "linalg_inv", "linalg_det", "linalg_slogdet", "linalg_qr", "linalg_eigh", "linalg_eigvalsh", "linalg_svdvals",
                 "linalg_ldl_factor", "linalg_matrix_rank.atol_rtol_float", "linalg_pinv.atol_rtol_float", "linalg_cond", "logdet", "cholesky_inverse", "geqrf", "nuclear_norm",
                 "linalg_matrix_sqrth", "linalg_polar"):
        for dt in (torch.half, torch.bfloat16, torch.int64, torch.bool):
            w.case(name, torch.eye(2).to(dt))
    w.case("linalg_solve", torch.eye(2), torch.eye(2, dtype=F64))
    w.case("linalg_lstsq", torch.eye(2), torch.eye(2, dtype=F64))
    w.case("linalg_eigh", torch.eye(2), "x")
    w.case("linalg_svd", torch.eye(2), True, driver="gesvd")
    w.case("linalg_lu", torch.eye(2), pivot=False)
    w.case("glu_jvp", matrix(2, 2), matrix(2, 4), matrix(2, 4, k=5), 1)
    w.case("glu_backward_jvp", matrix(2, 4), matrix(2, 2), matrix(2, 4, k=2), matrix(2, 2, k=3), matrix(2, 4, k=5), -1)
    w.case("infinitely_differentiable_gelu_backward", matrix(5), matrix(5, k=3))


def failures(w):
    """Runs that fail, and what the `_ex` forms give instead. Elements that follow a failure are arbitrary."""
    zero = torch.tensor([[1.0, 0], [0, 0]], dtype=F64)
    both = torch.stack([torch.eye(2, dtype=F64), zero])
    for x in (zero, both):
        for name in ("linalg_cholesky", "linalg_inv", "inverse", "linalg_lu_factor"):
            w.case(name, x)
        w.case("linalg_solve", x, x)
        w.case("linalg_cholesky_ex", x, check_errors=True)
        w.case("linalg_cholesky_ex", x)
        w.case("linalg_inv_ex", x, check_errors=True)
        w.case("linalg_lu_factor_ex", x, check_errors=True)
        w.case("linalg_lu_factor_ex", x)
        w.case("linalg_solve_ex", x, x, check_errors=True)
        w.case("linalg_matrix_power", x, -1)
        w.case("linalg_det", x)
        w.case("linalg_slogdet", x)
    w.case("linalg_tensorinv", zero, 1)
    for v in (float("nan"), INF):
        bad = torch.tensor([[2.0, 1], [1, v]], dtype=F64)
        for name in ("linalg_cholesky_ex", "linalg_det", "linalg_lu_factor_ex"):
            w.case(name, bad)
    bad = torch.tensor([[float("nan"), 1.0], [1, 2]], dtype=F64)
    for name in ("linalg_svdvals", "linalg_pinv.atol_rtol_float", "linalg_cond", "linalg_matrix_rank.atol_rtol_float"):
        w.case(name, bad)


def main():
    w = Writer()
    for part in (factorisations, solvers, norms, others, failures):
        part(w)
    w.save(sys.argv[1])
    print("%d cases, %d of them refused" % (len(w.lines), sum("\"error\"" in line for line in w.lines)))


if __name__ == "__main__":
    main()
