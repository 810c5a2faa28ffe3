"""What the options of the strategies mean, one line each, and what models must be able to do for them.

`disputatio strategies` shows these words beside what it reads from the signatures; a test holds that every
option of every strategy has its line, and that no line speaks of an option that is no more.
"""

from __future__ import annotations

from collections.abc import Mapping

# Of options that mean the same wherever they stand.
SHARED: Mapping[str, str] = {
    "k": "passages to read; none: all in hand, or as many as the index gives",
    "max_tokens": "most tokens of one reply",
    "per_source": "best passages of each source that it answers from",
    "tau": 'f_align below which an answer counts as "I don\'t know"; 0 judges nothing',
    "votes": "sampled votes in place of log-probabilities; 0 for none",
}

MEANINGS: Mapping[str, Mapping[str, str]] = {
    "ac_rag": {
        "delta1": "log P(something is unknown) above which it looks up; inf never, -inf always",
        "delta4": "log P(it is sufficient) below which it goes on; -inf ends after one round",
        "rounds": "most terms that are looked up",
        "k": "passages a term",
        "query": "what is searched: the resolver's explanation, the term, or the question",
        "summary": "remember a summary of the passages, not the passages themselves",
        "bound": "keep of a summary only what its passages bear out",
        "models": "who plays both roles, if one does",
        "choices": 'answers to pick from, with "|" between; empty: found in the question; free: none',
    },
    "astute_rag": {
        "rounds": "consolidations of the passages, the last one together with the answer",
        "memories": "most passages of the model's own memory; 0 for none",
    },
    "crag": {
        "upper": "best grade at or above which retrieval is correct",
        "lower": "grade below which a passage is wrong and left out",
        "least": "grade below which a strip is left out",
        "strips": "most strips that are kept",
        "size": "sentences of a strip",
    },
    "disputation": {
        "copies": "take likeness to passages with other answers for a sign of alteration",
        "order": "of two alike passages, take the better-ranked for the original",
        "standing": "weigh how the passages of an answer read, not only their votes",
        "certainty": "weigh how sure the readers were, where the model tells",
        "namesakes": "let different things of one name have answers of their own",
        "belief": "where several answers stand, let what the model itself holds likely move them",
        "debate": "most rounds in which advocates plead for answers that the weights leave open",
        "complete": "most rounds of looking for what is missing among passages not read yet",
        "precheck": "answer without retrieval what the model is sure to know",
    },
    "madam_rag": {
        "rounds": "most rounds of debate",
        "aggregator": "aggregate the replies; false keeps every distinct answer",
        "history": "what agents hear of the round before: its aggregate, or each other's replies",
        "bound": "an agent moves only by a quote from its own passage; false is the paper's",
        "shuffle_seed": "seed of the order in which the aggregator reads",
    },
    "main_rag": {
        "n": "standard deviations below the mean score down to which passages are kept",
        "floor": "least score of an answer that counts as evidence",
    },
    "majority_vote": {"voters": "who has a vote: each source, each passage, or what fits the passages"},
    "oracle": {"options": "L, how many answers are possible, in a vote's weight L w - 1"},
    "ra_rag": {
        "kappa": "sources that are heard",
        "selection": "relevant and reliable sources, reliable ones, or all",
        "weights": "what a vote weighs by: estimates, nothing, or the truth that passages carry",
        "options": "L, how many answers are possible, in a vote's weight L w - 1",
        "independent": "one vote an owner or group of copies, by the lower end of its estimate",
    },
    "ragenta": {
        "n": "standard deviations below the mean score down to which passages are kept",
        "floor": "least score of an answer that counts as evidence",
        "rounds": "times that the reviser may ask for more; 0 leaves it out",
        "follow_ups": "most questions that it asks at a time",
        "follow_k": "new passages a question of the reviser's",
    },
    "robust_rag": {
        "alpha": "share of the answers that must have a keyword",
        "beta": "number of the answers that must have a keyword",
        "threshold": "whether both of alpha and beta must be met, or the smaller",
        "aggregation": "answer from the keywords, or choose a phrase by summed probability",
        "eta": "lead in summed probability that an answer needs",
    },
    "self_rag": {
        "threshold": "P(retrieve) above which passages are read; inf never, -inf always",
        "w_rel": "weight of relevance in the score",
        "w_sup": "weight of support in the score",
        "w_use": "weight of use in the score",
        "aggregate": "the best answer, or all of them to an aggregator (as on RAMDocs)",
        "hard": "drop answers that their passage does not support",
        "tokens": "ask for judgements, or read a checkpoint's reflection tokens",
    },
    "self_reflection": {
        "rounds": "rounds of review and refinement",
        "stop": "end at a review that finds no problem",
    },
    "speculative_rag": {
        "clusters": "most clusters of the passages; a subset has one passage of each",
        "drafts": "most subsets, each with a draft of its own",
        "aggregate": "the best draft, or all of them to an aggregator (as on RAMDocs)",
        "seed": "seed of the clusters and subsets",
    },
}

# Who asks for log-probabilities, and what to do where the model gives none.
LOGPROBS: Mapping[str, str] = {
    "ac_rag": "needed, or --set votes=10",
    "crag": "needed, or --set votes=10",
    "main_rag": "needed, or --set votes=10",
    "majority_vote": "used, where sources vote, to check answers against their passages",
    "oracle": "used to check answers against their passages",
    "ra_rag": "used to check answers against their passages",
    "ragenta": "needed, or --set votes=10",
    "robust_rag": "needed with --set aggregation=decoding alone",
    "self_rag": "needed, or --set votes=10",
    "speculative_rag": "needed, or --set votes=10; not with --set aggregate=all",
}
NO_LOGPROBS = "not needed"
SCHEMAS = "used; a server that takes none is told the form in words"


def meaning(strategy: str, option: str) -> str:
    """One line on what an option does, empty for one that nothing is written of."""
    own = MEANINGS.get(strategy, {})
    return own.get(option) or SHARED.get(option, "")
