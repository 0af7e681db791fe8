// Compares what the audit log may grow to with the volume that it is written on, for `check` and for the start. In: the configuration
// and the folders of this machine. Out: warnings; none where the volume is not on this machine.
import { dirname, resolve } from 'node:path';
import { type Fault, warning } from '../../config/fault.ts';
import { maxFileBytes } from '../../management/audit/chain/chain-file.ts';
import type { Context } from './context.ts';
import type { GoodConfiguration } from './load-settings.ts';

/** For the database, the journal of revocations and a backup on its way. */
const besideBytes = 128 * 1024 * 1024;
const gib = 1024 * 1024 * 1024;

export async function auditSpaceWarnings(context: Context, loaded: GoodConfiguration): Promise<Fault[]> {
  const { management, managementServer } = loaded.settings;
  // Without a limit, no volume is large enough, and the configuration says so on purpose.
  if (management === undefined || managementServer === undefined || management.audit.keepFiles === 0) return [];
  const { keepFiles } = management.audit;
  const { dataDir } = managementServer;
  const folder = resolve(context.cwd, dataDir);
  // Before the first start the folder itself is missing, and its volume is mounted at the folder above.
  const volumeBytes = (await context.files.volumeBytes(folder)) ?? (await context.files.volumeBytes(dirname(folder)));
  const logBytes = (keepFiles + 1) * maxFileBytes;
  if (!volumeBytes || logBytes + besideBytes <= volumeBytes) return [];
  const fitting = Math.floor((volumeBytes - besideBytes) / maxFileBytes) - 1;
  const larger = `give dataDir a volume of ${inGib(logBytes + besideBytes)} GiB`;
  return [
    warning({
      code: 'MANAGEMENT_AUDIT_SPACE',
      at: loaded.positions.positionOf(['hostward', 'management', 'dataDir']),
      path: 'hostward.management.audit.keepFiles',
      sentence: `${keepFiles} full files of the audit log and the one that is written take ${inGib(logBytes)} GiB, and the volume of ${folder} has ${inGib(volumeBytes)} GiB; changes are refused when it is full`,
      fix: fitting > 0 ? `set keepFiles to at most ${fitting}, or ${larger}` : larger,
    }),
  ];
}

function inGib(bytes: number): string {
  return (bytes / gib).toFixed(1);
}
