"""The papers that the methods come from, once, as BibTeX has them; keys are those of `source`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Reference:
    """A paper.

    Attributes
    ----------
    kind
        BibTeX's type of the entry.
    fields
        BibTeX's fields, in LaTeX.
    """

    kind: str
    fields: Mapping[str, str]


def _proceedings(authors: str, title: str, where: str, year: int, **more: str) -> Reference:
    given = {"author": authors, "title": title, "booktitle": where, "year": str(year)}
    return Reference("inproceedings", MappingProxyType(given | more))


def _article(authors: str, title: str, journal: str, year: int, **more: str) -> Reference:
    given = {"author": authors, "title": title, "journal": journal, "year": str(year)}
    return Reference("article", MappingProxyType(given | more))


def _preprint(authors: str, title: str, number: str, year: int) -> Reference:
    given = {"author": authors, "title": title, "year": str(year)}
    found = {"eprint": number, "archiveprefix": "arXiv"}
    return Reference("misc", MappingProxyType(given | found))


_PMLR = "Proceedings of Machine Learning Research"
_NEURIPS = "Advances in Neural Information Processing Systems"
_REDDI = r"Reddi, Sashank J. and Sra, Suvrit and P{\'o}czos, Barnab{\'a}s and Smola, Alexander J."

REFERENCES: Mapping[str, Reference] = MappingProxyType(
    {
        "shen2019": _proceedings(
            "Shen, Zebang and Fang, Cong and Zhao, Peilin and Huang, Junzhou and Qian, Hui",
            "Complexities in Projection-Free Stochastic Non-convex Minimization",
            "International Conference on Artificial Intelligence and Statistics",
            2019,
            series=_PMLR,
            volume="89",
            pages="2868--2876",
        ),
        "qu2018": _proceedings(
            "Qu, Chao and Li, Yan and Xu, Huan",
            "Non-convex Conditional Gradient Sliding",
            "International Conference on Machine Learning",
            2018,
            series=_PMLR,
            volume="80",
            pages="4208--4217",
        ),
        "li2019": _preprint(
            "Li, Yan and Qu, Chao and Xu, Huan",
            "Projection-Free Algorithms in Statistical Estimation",
            "1805.07844",
            2018,
        ),
        "wang2019": _proceedings(
            "Wang, Zhe and Ji, Kaiyi and Zhou, Yi and Liang, Yingbin and Tarokh, Vahid",
            "{SpiderBoost} and Momentum: Faster Variance Reduction Algorithms",
            _NEURIPS,
            2019,
            volume="32",
        ),
        "lacoste2016": _preprint(
            "Lacoste-Julien, Simon",
            "Convergence Rate of {Frank-Wolfe} for Non-Convex Objectives",
            "1607.00345",
            2016,
        ),
        "jaggi2013": _proceedings(
            "Jaggi, Martin",
            "Revisiting {Frank-Wolfe}: Projection-Free Sparse Convex Optimization",
            "International Conference on Machine Learning",
            2013,
            series=_PMLR,
            volume="28",
            pages="427--435",
        ),
        "pedregosa2020": _proceedings(
            "Pedregosa, Fabian and Negiar, Geoffrey and Askari, Armin and Jaggi, Martin",
            "Linearly Convergent {Frank-Wolfe} with Backtracking Line-Search",
            "International Conference on Artificial Intelligence and Statistics",
            2020,
            series=_PMLR,
            volume="108",
        ),
        "reddi2016allerton": _proceedings(
            _REDDI,
            "Stochastic {Frank-Wolfe} Methods for Nonconvex Optimization",
            "Allerton Conference on Communication, Control, and Computing",
            2016,
        ),
        "reddi2016icml": _proceedings(
            r"Reddi, Sashank J. and Hefny, Ahmed and Sra, Suvrit and P{\'o}czos, Barnab{\'a}s and "
            "Smola, Alex",
            "Stochastic Variance Reduction for Nonconvex Optimization",
            "International Conference on Machine Learning",
            2016,
            series=_PMLR,
            volume="48",
        ),
        "reddi2016cdc": _proceedings(
            _REDDI,
            "Fast Incremental Method for Smooth Nonconvex Optimization",
            "IEEE Conference on Decision and Control",
            2016,
        ),
        "reddi2016nips": _proceedings(
            _REDDI,
            "Proximal Stochastic Methods for Nonsmooth Nonconvex Finite-Sum Optimization",
            _NEURIPS,
            2016,
            volume="29",
        ),
        "li2018": _proceedings(
            "Li, Zhize and Li, Jian",
            "A Simple Proximal Stochastic Gradient Method for Nonsmooth Nonconvex Optimization",
            _NEURIPS,
            2018,
            volume="31",
        ),
        "nguyen2017": _preprint(
            r"Nguyen, Lam M. and Liu, Jie and Scheinberg, Katya and Tak{\'a}{\v{c}}, Martin",
            "Stochastic Recursive Gradient Algorithm for Nonconvex Optimization",
            "1705.07261",
            2017,
        ),
        "fang2018": _proceedings(
            "Fang, Cong and Li, Chris Junchi and Lin, Zhouchen and Zhang, Tong",
            "{SPIDER}: Near-Optimal Non-Convex Optimization via Stochastic Path-Integrated "
            "Differential Estimator",
            _NEURIPS,
            2018,
            volume="31",
        ),
        "shang2018": _proceedings(
            "Shang, Fanhua and Jiao, Licheng and Zhou, Kaiwen and Cheng, James and Ren, Yan and "
            "Jin, Yufei",
            "{ASVRG}: Accelerated Proximal {SVRG}",
            "Asian Conference on Machine Learning",
            2018,
            series=_PMLR,
            volume="95",
            pages="815--830",
        ),
        "allenzhu2018katyusha": _article(
            "Allen-Zhu, Zeyuan",
            "Katyusha: The First Direct Acceleration of Stochastic Gradient Methods",
            "Journal of Machine Learning Research",
            2018,
            volume="18",
        ),
        "allenzhu2018natasha": _proceedings(
            "Allen-Zhu, Zeyuan",
            "Natasha 2: Faster Non-Convex Optimization Than {SGD}",
            _NEURIPS,
            2018,
            volume="31",
        ),
        "ghadimi2016accelerated": _article(
            "Ghadimi, Saeed and Lan, Guanghui",
            "Accelerated Gradient Methods for Nonconvex Nonlinear and Stochastic Programming",
            "Mathematical Programming",
            2016,
            volume="156",
            pages="59--99",
        ),
        "ghadimi2016minibatch": _article(
            "Ghadimi, Saeed and Lan, Guanghui and Zhang, Hongchao",
            "Mini-Batch Stochastic Approximation Methods for Nonconvex Stochastic Composite "
            "Optimization",
            "Mathematical Programming",
            2016,
            volume="155",
            pages="267--305",
        ),
        "lan2016": _article(
            "Lan, Guanghui and Zhou, Yi",
            "Conditional Gradient Sliding for Convex Optimization",
            "SIAM Journal on Optimization",
            2016,
            volume="26",
        ),
        "hazan2016": _proceedings(
            "Hazan, Elad and Luo, Haipeng",
            "Variance-Reduced and Projection-Free Stochastic Optimization",
            "International Conference on Machine Learning",
            2016,
            series=_PMLR,
            volume="48",
        ),
    }
)
"""The papers, by key."""


def bibtex(keys: Iterable[str]) -> str:
    """Return BibTeX's entries of papers, each once.

    Raises
    ------
    KeyError
        If one is not in `REFERENCES`.
    """
    return "\n".join(_entry(key, REFERENCES[key]) for key in dict.fromkeys(keys))


def _entry(key: str, reference: Reference) -> str:
    lines = [f"  {name} = {{{value}}}," for name, value in reference.fields.items()]
    return "\n".join([f"@{reference.kind}{{{key},", *lines, "}", ""])
