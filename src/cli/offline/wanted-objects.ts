// Picks the objects of an input that can be rendered. In: objects as read. Out: the objects, or faults that name what is wrong.
import type { KubeObject } from '../../object/meta/object.ts';
import { CommandFault, exitCodes } from '../line/context.ts';
import { shapeFaults } from './check-shape.ts';
import { isOfflineKind } from './offline-kinds.ts';
import { PlacedFaults, type ReadObject } from './read-objects.ts';

/** Refuses input that an API server would refuse, and input without an object to render. */
export function wantedObjects(read: readonly ReadObject[], wanted: string): KubeObject[] {
  if (!read.some(({ object }) => isOfflineKind(object))) {
    const kinds = [...new Set(read.map(({ object }) => object.kind))].join(', ');
    const found = kinds === '' ? 'nothing' : `only ${kinds}`;
    throw new CommandFault(exitCodes.input, `wanted ${wanted}, found ${found} in the input`);
  }
  const faults = read.flatMap(({ object, origin, document, path }) =>
    shapeFaults(object).map(({ place, text, isOfKey = false }) => ({
      ...{ origin, document, place: [...path, ...place], isOfKey },
      message: `${object.kind} "${object.metadata.name}": ${text}`,
    })),
  );
  if (faults.length > 0) throw new PlacedFaults(faults);
  return read.map(({ object }) => object);
}
