// For commands that change a whole store: what a replica that runs would write in the meantime would be lost. In: an open store. Out:
// nothing, or a fault that names the replica.
import type { Clock } from '../../../clock.ts';
import { RestoreFault } from '../../audit/recovery/restore-fault.ts';
import type { Database } from '../host/database-for.ts';
import { HostDatabase } from '../host/host-database.ts';
import { runningBeside } from '../host/known-replicas.ts';

/** `lost`: the end of "what it … would be missing". A file has a lock, which the start of a store looks at. */
export async function mustBeAlone(
  database: Database,
  { clock, lost, hint = 'stop every replica and run this again' }: { clock: Clock; lost: string; hint?: string },
): Promise<void> {
  if (!(database instanceof HostDatabase)) return;
  const running = await runningBeside(database.shared.replica, database, clock);
  if (running === undefined) return;
  throw new RestoreFault('input', `replica ${running} runs, and ${lost}`, { hint });
}
