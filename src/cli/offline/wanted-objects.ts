// Picks the objects of an input that can be rendered. In: objects as read. Out: the objects, or a fault that names what is wrong.
import type { KubeObject } from '../../object/meta/object.ts';
import { CommandFault, exitCodes } from '../line/context.ts';
import { shapeFaults } from './check-shape.ts';
import { isOfflineKind } from './offline-kinds.ts';
import type { ReadObject } from './read-objects.ts';

/** Refuses input that an API server would refuse, and input without an object to render. */
export function wantedObjects(read: readonly ReadObject[], wanted: string): KubeObject[] {
  const wantedOnes = read.filter(({ object }) => isOfflineKind(object));
  if (wantedOnes.length === 0) {
    const kinds = [...new Set(read.map(({ object }) => object.kind))].join(', ');
    const found = kinds === '' ? 'nothing' : `only ${kinds}`;
    throw new CommandFault(exitCodes.input, `wanted ${wanted}, found ${found} in the input`);
  }
  const faults = wantedOnes.flatMap(({ object, origin }) =>
    shapeFaults(object).map((fault) => `${origin}: ${object.kind} "${object.metadata.name}": ${fault}`),
  );
  if (faults.length > 0) throw new CommandFault(exitCodes.input, faults.join('\n'));
  return read.map(({ object }) => object);
}
