// Joins the faults of connecting to a cluster into one fault of the environment: one sentence for each, with its fix.
import type { ClusterFault } from '../../cluster/errors.ts';
import { CommandFault, exitCodes } from './context.ts';

export function clusterFault(faults: readonly ClusterFault[]): CommandFault {
  const [first, ...more] = faults.map(({ message, fix }) => (fix === '' ? message : `${message}; ${fix}`));
  return new CommandFault(exitCodes.environment, [first, ...more].join('\nhostward: '));
}
