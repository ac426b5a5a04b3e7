"""The papers that all comes from, once, as BibTeX has them; keys are those of `source`."""

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


def _book(authors: str, title: str, publisher: str, year: int, **more: str) -> Reference:
    given = {"author": authors, "title": title, "publisher": publisher, "year": str(year)}
    return Reference("book", MappingProxyType(given | more))


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
            eprint="1708.04783",
            archiveprefix="arXiv",
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
            eprint="1810.10690",
            archiveprefix="arXiv",
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
            eprint="1806.05123",
            archiveprefix="arXiv",
        ),
        "reddi2016allerton": _proceedings(
            _REDDI,
            "Stochastic {Frank-Wolfe} Methods for Nonconvex Optimization",
            "Allerton Conference on Communication, Control, and Computing",
            2016,
            eprint="1607.08254",
            archiveprefix="arXiv",
        ),
        "reddi2016icml": _proceedings(
            r"Reddi, Sashank J. and Hefny, Ahmed and Sra, Suvrit and P{\'o}czos, Barnab{\'a}s and "
            "Smola, Alex",
            "Stochastic Variance Reduction for Nonconvex Optimization",
            "International Conference on Machine Learning",
            2016,
            series=_PMLR,
            volume="48",
            eprint="1603.06160",
            archiveprefix="arXiv",
        ),
        "reddi2016cdc": _proceedings(
            _REDDI,
            "Fast Incremental Method for Smooth Nonconvex Optimization",
            "IEEE Conference on Decision and Control",
            2016,
            eprint="1603.06159",
            archiveprefix="arXiv",
        ),
        "reddi2016nips": _proceedings(
            _REDDI,
            "Proximal Stochastic Methods for Nonsmooth Nonconvex Finite-Sum Optimization",
            _NEURIPS,
            2016,
            volume="29",
            eprint="1605.06900",
            archiveprefix="arXiv",
        ),
        "li2018": _proceedings(
            "Li, Zhize and Li, Jian",
            "A Simple Proximal Stochastic Gradient Method for Nonsmooth Nonconvex Optimization",
            _NEURIPS,
            2018,
            volume="31",
            eprint="1802.04477",
            archiveprefix="arXiv",
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
            eprint="1807.01695",
            archiveprefix="arXiv",
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
            eprint="1810.03105",
            archiveprefix="arXiv",
        ),
        "allenzhu2018katyusha": _article(
            "Allen-Zhu, Zeyuan",
            "Katyusha: The First Direct Acceleration of Stochastic Gradient Methods",
            "Journal of Machine Learning Research",
            2018,
            volume="18",
            eprint="1603.05953",
            archiveprefix="arXiv",
        ),
        "allenzhu2018natasha": _proceedings(
            "Allen-Zhu, Zeyuan",
            "Natasha 2: Faster Non-Convex Optimization Than {SGD}",
            _NEURIPS,
            2018,
            volume="31",
            eprint="1708.08694",
            archiveprefix="arXiv",
        ),
        "ghadimi2016accelerated": _article(
            "Ghadimi, Saeed and Lan, Guanghui",
            "Accelerated Gradient Methods for Nonconvex Nonlinear and Stochastic Programming",
            "Mathematical Programming",
            2016,
            volume="156",
            pages="59--99",
            doi="10.1007/s10107-015-0871-8",
            eprint="1310.3787",
            archiveprefix="arXiv",
        ),
        "ghadimi2016minibatch": _article(
            "Ghadimi, Saeed and Lan, Guanghui and Zhang, Hongchao",
            "Mini-Batch Stochastic Approximation Methods for Nonconvex Stochastic Composite "
            "Optimization",
            "Mathematical Programming",
            2016,
            volume="155",
            pages="267--305",
            doi="10.1007/s10107-014-0846-1",
            eprint="1308.6594",
            archiveprefix="arXiv",
        ),
        "lan2016": _article(
            "Lan, Guanghui and Zhou, Yi",
            "Conditional Gradient Sliding for Convex Optimization",
            "SIAM Journal on Optimization",
            2016,
            volume="26",
            doi="10.1137/140992382",
        ),
        "hazan2016": _proceedings(
            "Hazan, Elad and Luo, Haipeng",
            "Variance-Reduced and Projection-Free Stochastic Optimization",
            "International Conference on Machine Learning",
            2016,
            series=_PMLR,
            volume="48",
            eprint="1602.02101",
            archiveprefix="arXiv",
        ),
        # What sets, penalties and problems come from.
        "argyriou2012": _proceedings(
            "Argyriou, Andreas and Foygel, Rina and Srebro, Nathan",
            "Sparse Prediction with the $k$-Support Norm",
            _NEURIPS,
            2012,
            volume="25",
            eprint="1204.5043",
            archiveprefix="arXiv",
        ),
        "bach2013": _article(
            "Bach, Francis",
            "Learning with Submodular Functions: A Convex Optimization Perspective",
            "Foundations and Trends in Machine Learning",
            2013,
            volume="6",
            doi="10.1561/2200000039",
        ),
        "birkhoff1946": _article(
            "Birkhoff, Garrett",
            r"Tres observaciones sobre el {\'a}lgebra lineal",
            r"Universidad Nacional de Tucum{\'a}n, Revista, Serie A",
            1946,
            volume="5",
            pages="147--151",
        ),
        "blondel2020": _proceedings(
            "Blondel, Mathieu and Teboul, Olivier and Berthet, Quentin and Djolonga, Josip",
            "Fast Differentiable Sorting and Ranking",
            "International Conference on Machine Learning",
            2020,
            series=_PMLR,
            volume="119",
            eprint="2002.08871",
            archiveprefix="arXiv",
        ),
        "cai2010": _article(
            r"Cai, Jian-Feng and Cand{\`e}s, Emmanuel J. and Shen, Zuowei",
            "A Singular Value Thresholding Algorithm for Matrix Completion",
            "SIAM Journal on Optimization",
            2010,
            volume="20",
            pages="1956--1982",
            doi="10.1137/080738970",
        ),
        "cormen2022": _book(
            "Cormen, Thomas H. and Leiserson, Charles E. and Rivest, Ronald L. and Stein, Clifford",
            "Introduction to Algorithms",
            "MIT Press",
            2022,
            edition="4",
        ),
        "crouse2016": _article(
            "Crouse, David F.",
            "On Implementing {2D} Rectangular Assignment Algorithms",
            "IEEE Transactions on Aerospace and Electronic Systems",
            2016,
            volume="52",
            doi="10.1109/TAES.2016.140952",
        ),
        "donoho1994": _article(
            "Donoho, David L. and Johnstone, Iain M.",
            "Ideal Spatial Adaptation by Wavelet Shrinkage",
            "Biometrika",
            1994,
            volume="81",
            pages="425--455",
            doi="10.1093/biomet/81.3.425",
        ),
        "dudik2012": _proceedings(
            r"Dud{\'i}k, Miroslav and Harchaoui, Zaid and Malick, J{\'e}r{\^o}me",
            "Lifted Coordinate Descent for Learning with Trace-Norm Regularization",
            "International Conference on Artificial Intelligence and Statistics",
            2012,
            series=_PMLR,
            volume="22",
        ),
        "edmonds1970": _proceedings(
            "Edmonds, Jack",
            "Submodular Functions, Matroids, and Certain Polyhedra",
            "Combinatorial Structures and Their Applications",
            1970,
            pages="69--87",
        ),
        "edmonds1971": _article(
            "Edmonds, Jack",
            "Matroids and the Greedy Algorithm",
            "Mathematical Programming",
            1971,
            volume="1",
            pages="127--136",
            doi="10.1007/BF01584082",
        ),
        "hazan2008": _proceedings(
            "Hazan, Elad",
            "Sparse Approximate Solutions to Semidefinite Programs",
            "Latin American Symposium on Theoretical Informatics",
            2008,
            doi="10.1007/978-3-540-78773-0_27",
        ),
        "kruskal1956": _article(
            "Kruskal, Joseph B.",
            "On the Shortest Spanning Subtree of a Graph and the Traveling Salesman Problem",
            "Proceedings of the American Mathematical Society",
            1956,
            volume="7",
            pages="48--50",
        ),
        "lim2016": _proceedings(
            "Lim, Cong Han and Wright, Stephen J.",
            "Efficient {Bregman} Projections onto the Permutahedron and Related Polytopes",
            "International Conference on Artificial Intelligence and Statistics",
            2016,
            series=_PMLR,
            volume="51",
        ),
        "rado1952": _article(
            "Rado, Richard",
            "An Inequality",
            "Journal of the London Mathematical Society",
            1952,
            volume="27",
            pages="1--6",
            doi="10.1112/jlms/s1-27.1.1",
        ),
        "yuan2006": _article(
            "Yuan, Ming and Lin, Yi",
            "Model Selection and Estimation in Regression with Grouped Variables",
            "Journal of the Royal Statistical Society, Series B",
            2006,
            volume="68",
            pages="49--67",
            doi="10.1111/j.1467-9868.2005.00532.x",
        ),
        "kim2026": _proceedings(
            "Kim, Gyu Yeol and Oh, Min-hwan",
            "Convergence of {Muon} with {Newton-Schulz}",
            "International Conference on Learning Representations",
            2026,
            eprint="2601.19156",
            archiveprefix="arXiv",
        ),
        "pethick2025": _proceedings(
            "Pethick, Thomas and Xie, Wanyun and Antonakopoulos, Kimon and Zhu, Zhenyu and "
            "Silveti-Falls, Antonio and Cevher, Volkan",
            "Training Deep Learning Models with Norm-Constrained {LMO}s",
            "International Conference on Machine Learning",
            2025,
            series=_PMLR,
            volume="267",
            pages="49069--49104",
        ),
        "zhang2012": _proceedings(
            "Zhang, Xinhua and Yu, Yaoliang and Schuurmans, Dale",
            "Accelerated Training for Matrix-Norm Regularization: A Boosting Approach",
            _NEURIPS,
            2012,
            volume="25",
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
