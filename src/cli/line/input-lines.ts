// Splits standard input into lines. Each line comes out as soon as it has arrived, because the program at the other end may
// wait for an answer before it writes the next line.

export type InputLine = { kind: 'line'; text: string } | { kind: 'tooLong' };

/** Leaves out blank lines. */
export async function* inputLines(
  chunks: AsyncIterable<string>,
  { maxLength }: { maxLength: number },
): AsyncGenerator<InputLine> {
  let rest = '';
  let isSkipping = false;
  for await (const chunk of chunks) {
    const parts = chunk.split('\n');
    for (const [at, part] of parts.entries()) {
      if (!isSkipping) rest += part;
      if (rest.length > maxLength) {
        // Drops the line and skips to its end, so that a long line takes no memory.
        isSkipping = true;
        rest = '';
      }
      if (at === parts.length - 1) break;
      if (isSkipping) yield { kind: 'tooLong' };
      else if (rest.trim() !== '') yield { kind: 'line', text: rest };
      rest = '';
      isSkipping = false;
    }
  }
  if (isSkipping) yield { kind: 'tooLong' };
  else if (rest.trim() !== '') yield { kind: 'line', text: rest };
}
