// Prints the difference of two texts as a unified diff, from the longest common subsequence of their lines.

/** Unchanged lines around a change, as in diff -u. */
const contextLines = 3;
/** 16 MiB of table; larger differences are shown as one replacement. */
const cellLimit = 4 * 1024 * 1024;

export type DiffLine = { mark: ' ' | '-' | '+'; text: string };

/** Empty when the texts are equal. */
export function unifiedDiff(before: { name: string; text: string }, after: { name: string; text: string }): string {
  const hunks = diffHunks(before.text, after.text);
  return hunks === '' ? '' : `--- ${before.name}\n+++ ${after.name}\n${hunks}`;
}

/** As unifiedDiff(), without the two lines that name the texts. */
export function diffHunks(before: string, after: string): string {
  if (before === after) return '';
  const lines = compare(linesOf(before), linesOf(after));
  const out: string[] = [];
  for (const [start, end] of hunksOf(lines)) {
    const hunk = lines.slice(start, end);
    const left = { start: countOf(lines.slice(0, start), '+'), length: countOf(hunk, '+') };
    const right = { start: countOf(lines.slice(0, start), '-'), length: countOf(hunk, '-') };
    out.push(`@@ -${rangeOf(left)} +${rangeOf(right)} @@`, ...hunk.map((line) => line.mark + line.text));
  }
  return `${out.join('\n')}\n`;
}

/** Every line of both texts, in order. */
export function lineDifference(before: string, after: string): DiffLine[] {
  return compare(linesOf(before), linesOf(after));
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

/** Counts the lines of one side, without the lines with the mark of the other side. */
function countOf(lines: readonly DiffLine[], without: '-' | '+'): number {
  return lines.filter((line) => line.mark !== without).length;
}

function rangeOf({ start, length }: { start: number; length: number }): string {
  return `${length === 0 ? start : start + 1},${length}`;
}

function compare(before: readonly string[], after: readonly string[]): DiffLine[] {
  let head = 0;
  while (head < Math.min(before.length, after.length) && before[head] === after[head]) head++;
  let tail = 0;
  const most = Math.min(before.length, after.length) - head;
  while (tail < most && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  const [a, b] = [before.slice(head, before.length - tail), after.slice(head, after.length - tail)];
  const alike = (texts: readonly string[]): DiffLine[] => texts.map((text) => ({ mark: ' ', text }));
  const [same, rest] = [alike(before.slice(0, head)), alike(before.slice(before.length - tail))];
  if (a.length * b.length > cellLimit) {
    const mark = (sign: '-' | '+', texts: string[]): DiffLine[] => texts.map((text) => ({ mark: sign, text }));
    return [...same, ...mark('-', a), ...mark('+', b), ...rest];
  }
  return [...same, ...alongCommonLines(a, b), ...rest];
}

function alongCommonLines(a: readonly string[], b: readonly string[]): DiffLine[] {
  // common[i][j]: length of the longest common subsequence of a from i on and b from j on.
  const common = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const row = common[i] as Uint32Array;
      const below = common[i + 1] as Uint32Array;
      row[j] = a[i] === b[j] ? (below[j + 1] as number) + 1 : Math.max(below[j] as number, row[j + 1] as number);
    }
  }
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ mark: ' ', text: a[i] as string });
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && (common[i + 1]?.[j] as number) >= (common[i]?.[j + 1] as number))) {
      lines.push({ mark: '-', text: a[i++] as string });
    } else {
      lines.push({ mark: '+', text: b[j++] as string });
    }
  }
  return lines;
}

/** The ranges of the changes with their context lines; ranges that touch are joined. */
function hunksOf(lines: readonly DiffLine[]): [number, number][] {
  const found: [number, number][] = [];
  lines.forEach((line, index) => {
    if (line.mark === ' ') return;
    const start = Math.max(0, index - contextLines);
    const end = Math.min(lines.length, index + contextLines + 1);
    const last = found.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = end;
    else found.push([start, end]);
  });
  return found;
}
