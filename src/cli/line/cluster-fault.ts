// Faults of the way to a cluster as one fault of the environment: each a sentence with what to do about it.
import type { ClusterFault } from '../../cluster/errors.ts';
import { CommandFault, exitCodes } from './context.ts';

export function clusterFault(faults: readonly ClusterFault[]): CommandFault {
  const [first, ...more] = faults.map(({ message, fix }) => (fix === '' ? message : `${message}; ${fix}`));
  return new CommandFault(exitCodes.environment, [first, ...more].join('\nhostward: '));
}
