// Pairs of fault classes that no schedule can have together, each with its reason. A run that places a pair of this list and sees both strike
// fails, and so does a run of a whole plan that has not placed another one.

/** By the names of both classes, as in pairName(). */
export const pairsApart: Readonly<Record<string, string>> = {};
