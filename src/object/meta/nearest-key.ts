// Finds the known key that a misspelt key probably meant: by letter case, by the beginning of a word, or by few edits. Of
// two with a common beginning, the one of the more similar length: endpointSlice means endpointSlices and not endpoints.

export function nearestKey(wrong: string, known: Iterable<string>): string | undefined {
  const word = wrong.toLowerCase();
  // A suggestion that differs in more than a third of the word does not help.
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1;
  let best: string | undefined;
  const gapTo = (key: string | undefined): number => Math.abs((key?.length ?? Number.POSITIVE_INFINITY) - word.length);
  for (const key of known) {
    const candidate = key.toLowerCase();
    const isAbbreviation = word.length >= 3 && candidate.startsWith(word);
    const isLonger = candidate.length >= 4 && word.startsWith(candidate);
    const isOnlyCase = candidate === word;
    const isBeginning = isAbbreviation || isLonger;
    const distance = isBeginning ? (isOnlyCase ? 0 : 1) : editDistance(word, candidate, bestDistance);
    const isNearer = isBeginning && distance === bestDistance && gapTo(key) < gapTo(best);
    if (distance < bestDistance || isNearer) {
      best = key;
      bestDistance = distance;
    }
  }
  return best;
}

/** Counts insertions, deletions, replacements and swaps of neighbours, up to `limit`. */
export function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (last[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let cost = Math.min((last[j] as number) + 1, (row[j - 1] as number) + 1, replaced);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) cost = Math.min(cost, (beforeLast[j - 2] as number) + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return Math.min(limit, last[b.length] as number);
}
