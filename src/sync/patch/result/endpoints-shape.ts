// What fields an Endpoints has below what patches see, to tell a path that can never match anything from one that does not
// match today. Pure.
import { arrayIndex, type Segment } from '../../../expression/path/path-grammar.ts';

export type Shape =
  | { kind: 'object'; fields: ReadonlyMap<string, Shape> }
  | { kind: 'list'; of: Shape }
  /** Keys are the tenant's to choose. */
  | { kind: 'map'; of: Shape }
  | { kind: 'scalar' };

const scalar: Shape = { kind: 'scalar' };

function object(fields: Record<string, Shape>): Shape {
  return { kind: 'object', fields: new Map(Object.entries(fields)) };
}

function scalars(...names: string[]): Record<string, Shape> {
  return Object.fromEntries(names.map((name) => [name, scalar]));
}

const list = (of: Shape): Shape => ({ kind: 'list', of });
const texts: Shape = { kind: 'map', of: scalar };

const targetRef = object(scalars('apiVersion', 'kind', 'name', 'namespace', 'uid', 'resourceVersion', 'fieldPath'));
const addresses = list(object({ ...scalars('ip', 'hostname', 'nodeName'), targetRef }));
const ports = list(object(scalars('name', 'port', 'protocol', 'appProtocol')));

export const endpointsShape: Shape = object({
  metadata: object({ labels: texts, annotations: texts }),
  subsets: list(object({ addresses, notReadyAddresses: addresses, ports })),
});

export type Reach =
  /** What may stand there, and in a map or list there. */
  | { kind: 'reached'; shapes: Shape[] }
  /** The segment that leads nowhere, and what there is instead; `parent` says of what. */
  | { kind: 'nowhere'; at: number; parent: Shape['kind']; fields: string[] };

export function reach(segments: readonly Segment[]): Reach {
  let here: Shape[] = [endpointsShape];
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
