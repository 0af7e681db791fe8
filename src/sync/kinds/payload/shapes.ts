// Builds the shapes of fields, in which the kinds say what their API versions know.
import type { Shape } from '../../plan/kind.ts';

export const scalar: Shape = { kind: 'scalar' };

export function object(fields: Record<string, Shape>): Shape {
  return { kind: 'object', fields: new Map(Object.entries(fields)) };
}

export function scalars(names: readonly string[]): Record<string, Shape> {
  return Object.fromEntries(names.map((name) => [name, scalar]));
}

export function list(of: Shape): Shape {
  return { kind: 'list', of };
}

/** Where the address of a sample object leads. */
export const sampleTarget = {
  hostname: 'db-0',
  nodeName: 'node-1',
  targetRef: { kind: 'Pod', name: 'db-0', namespace: 'default' },
};
