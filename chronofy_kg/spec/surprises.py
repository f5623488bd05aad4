"""Where the precedence of operators surprises: operands that deserve brackets although none are needed.

The checker warns about them where they stand without brackets, the formatter puts the brackets. It is about
three habits that differ between languages: a temporal prefix that ends before `and` or `->`, a temporal
operator of two formulas that binds tighter than `and`, and `and`, `xor`, `or` next to one another.
"""

from __future__ import annotations

from chronofy_kg.spec.ast import Boolean, Compare, Logic, Name, Node, Not, Pair, Step, Temporal

__all__ = ["is_bracketed", "is_plain", "surprise"]


def surprise(parent: Node, at: int, child: Node) -> str | None:
    """Return what surprises about operand number `at` of a node if it stands without brackets, or None.

    >>> from chronofy_kg.spec.parse import parse_formula
    >>> root = parse_formula("G x > 0 -> y > 0").root
    >>> surprise(root, 0, root.children[0])
    'G ends before ->'
    >>> surprise(root, 1, root.children[1]) is None
    True
    """
    if _is_chain(child):
        return None
    match parent, child:
        case Logic(operator, operands), Temporal() | Step() if at < len(operands) - 1 and not _single(child):
            return f"{child.operator} ends before {_WORDS.get(operator, operator)}"
        case Logic("and" | "or" | "xor" as operator), Pair():
            return f"{child.operator} binds tighter than {operator}"
        case Logic("or" | "xor" as operator), Logic("and" | "xor" as inner) if operator != inner:
            return f"{inner} binds tighter than {operator}"
        case Pair(operator), Temporal() | Step() | Not() if at == 0 and not _single(child):
            word = "not" if isinstance(child, Not) else child.operator
            return f"{word} ends before {operator}"
        case _:
            return None


def _single(node: Node) -> bool:
    """Whether steps stand before a single word, as in `prev up or next up`: that reads one way only."""
    while isinstance(node, Step | Not):
        node = node.operand
    return isinstance(node, Name | Boolean)


_WORDS = {"implies": "->", "iff": "<->"}


def is_plain(node: Node, text: str) -> bool:
    """Whether it is plain in a text where an operand ends: it has brackets of its own, or its only operand
    has.

    `(G x > 0) and y > 0` and `G (x > 0) and y > 0` are, `G x > 0 and y > 0` is not.
    """
    if isinstance(node, Temporal | Step | Not) and is_bracketed(node.operand, text):
        return True
    return is_bracketed(node, text)


def _is_chain(node: Node) -> bool:
    """Whether a conjunction is written as a chain of comparisons, such as 0 <= x <= 1."""
    if not isinstance(node, Logic) or node.operator != "and":
        return False
    pairs = zip(node.operands, node.operands[1:], strict=False)
    return all(isinstance(a, Compare) and isinstance(b, Compare) and a.right is b.left for a, b in pairs)


def is_bracketed(node: Node, text: str) -> bool:
    """Whether a node stands in round brackets of its own in the text that it was read from.

    The span of a bracketed operand is that of its bracket.
    """
    if not text.startswith("(", node.span.start):
        return False
    return not node.children or node.children[0].span.start > node.span.start
