// Finds the line and column of a value in a text of YAML or JSON, by the keys that lead to it. In: a text that a parser has taken. Out:
// places. What the text does not show, such as a value behind an alias, is where its nearest parent is. Pure.
import { isMap, isNode, isScalar, isSeq, LineCounter, parseAllDocuments } from 'yaml';
import type { PlacedFault } from '../read-objects.ts';

export interface TextPlace {
  line: number;
  column: number;
}

export function placesIn(text: string): (fault: Pick<PlacedFault, 'document' | 'place' | 'isOfKey'>) => TextPlace {
  const lineCounter = new LineCounter();
  const options = { lineCounter, uniqueKeys: false, strict: false, logLevel: 'silent' } as const;
  const documents = [...parseAllDocuments(text, options)].flatMap(({ contents }) =>
    contents === null || (isScalar(contents) && contents.value === null) ? [] : [contents],
  );
  return ({ document, place, isOfKey = false }) => {
    let node: unknown = documents[document];
    let offset = offsetOf(node) ?? 0;
    for (const [at, key] of place.entries()) {
      const found = below(node, key);
      if (found === undefined) break;
      node = found.value;
      const isKeyWanted = isOfKey && at === place.length - 1;
      offset = (isKeyWanted ? undefined : offsetOf(node)) ?? offsetOf(found.key) ?? offset;
    }
    const { line, col } = lineCounter.linePos(offset);
    return { line, column: col };
  };
}

function below(node: unknown, key: string | number): { key: unknown; value: unknown } | undefined {
  if (isSeq(node) && typeof key === 'number') {
    const value = node.items[key];
    return value === undefined ? undefined : { key: undefined, value };
  }
  if (!isMap(node)) return undefined;
  // The last one of the same name counts.
  return node.items.findLast((pair) => isScalar(pair.key) && String(pair.key.value) === key);
}

/** Of a value that the text shows on a line. */
function offsetOf(node: unknown): number | undefined {
  const isShown = isNode(node) && !(isScalar(node) && node.value === null);
  return isShown ? node.range?.[0] : undefined;
}
