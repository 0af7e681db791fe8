// Follows a path into the shape of a kind, to tell a path that can never match from a path that does not match today. Pure.
import { arrayIndex, type Segment } from '../../../expression/path/path-grammar.ts';
import type { Shape, SyncedKind } from '../../plan/kind.ts';

const texts: Shape = { kind: 'map', of: { kind: 'scalar' } };
const metadata: Shape = {
  kind: 'object',
  fields: new Map([
    ['labels', texts],
    ['annotations', texts],
  ]),
};

export type Reach =
  /** Every shape that the end of the path may have. */
  | { kind: 'reached'; shapes: Shape[] }
  /** `at` is the index of the segment that leads nowhere, `fields` are the fields of its parent. */
  | { kind: 'nowhere'; at: number; parent: Shape['kind']; fields: string[] };

export function reach(segments: readonly Segment[], { payloadShape }: Pick<SyncedKind, 'payloadShape'>): Reach {
  let here: Shape[] = [{ kind: 'object', fields: new Map([['metadata', metadata], ...payloadShape]) }];
  for (const [at, segment] of segments.entries()) {
    const next = here.flatMap((shape) => stepInto(shape, segment));
    if (next.length === 0) {
      const fields = here.flatMap((shape) => (shape.kind === 'object' ? [...shape.fields.keys()] : []));
      return { kind: 'nowhere', at, parent: (here[0] as Shape).kind, fields };
    }
    here = next;
  }
  return { kind: 'reached', shapes: here };
}

function stepInto(shape: Shape, segment: Segment): Shape[] {
  switch (shape.kind) {
    case 'scalar':
      return [];
    case 'map':
      return [shape.of];
    case 'list':
      return segment.kind === 'every' || arrayIndex.test(segment.key) ? [shape.of] : [];
    case 'object': {
      if (segment.kind === 'every') return [...shape.fields.values()];
      const field = shape.fields.get(segment.key);
      return field === undefined ? [] : [field];
    }
    default:
      return shape satisfies never;
  }
}
