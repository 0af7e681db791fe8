// Standard input as lines, as many at a time as have arrived, so that a program at the other end can wait for each answer.

export type InputLine = { kind: 'line'; text: string } | { kind: 'tooLong' };

/** Lines are handed out in bundles of what one chunk completed; a bundle never holds more than this. */
const bundleLimit = 50;

export async function* inputLines(
  chunks: AsyncIterable<string>,
  { maxLength }: { maxLength: number },
): AsyncGenerator<InputLine[]> {
  let rest = '';
  let isSkipping = false;
  for await (const chunk of chunks) {
    const parts = chunk.split('\n');
    const bundle: InputLine[] = [];
    for (const [at, part] of parts.entries()) {
      if (!isSkipping) rest += part;
      if (rest.length > maxLength) {
        // Nothing of it is kept; its end is only waited for.
        isSkipping = true;
        rest = '';
      }
      if (at === parts.length - 1) break;
      if (isSkipping || rest.trim() !== '')
        bundle.push(isSkipping ? { kind: 'tooLong' } : { kind: 'line', text: rest });
      rest = '';
      isSkipping = false;
    }
    for (let at = 0; at < bundle.length; at += bundleLimit) yield bundle.slice(at, at + bundleLimit);
  }
  if (isSkipping) yield [{ kind: 'tooLong' }];
  else if (rest.trim() !== '') yield [{ kind: 'line', text: rest }];
}
