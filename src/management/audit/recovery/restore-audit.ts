// Writes a restore into the audit log of dataDir: a line before anything is replaced, and one with the outcome. A restore whose
// line cannot be written is not carried out.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../clock.ts';
import { auditName } from '../../keys/folder/data-folder.ts';
import type { Digest } from '../chain/chain.ts';
import { ChainFile } from '../chain/chain-file.ts';
import { type AuditEntry, outcomeEntry } from '../entries.ts';
import { RestoreFault } from './restore-fault.ts';

export interface AuditedRestore<Result> {
  dataDir: string;
  digest: Digest;
  clock: Clock;
  /** Time at which the backup was made. */
  madeAt: string;
  run(): Promise<Result>;
  /** The result for the outcome line. */
  says(result: Result): string;
}

export async function auditedRestore<Result>(of: AuditedRestore<Result>): Promise<Result> {
  const { dataDir, digest, clock, madeAt, run, says } = of;
  const file = new ChainFile({ folder: dataDir, name: auditName, digest });
  const id = randomUUID();
  const common = () => ({ time: clock.wallTime().toISOString(), id });
  const intent: AuditEntry = {
    ...common(),
    stage: 'intent',
    // The operator of the machine needs no key.
    subject: { kind: 'user', name: 'admin', key: '' },
    source: 'this machine',
    target: { kind: 'Management' },
    request: `restore the backup of ${madeAt}`,
    url: '',
  };
  try {
    await file.start();
    await file.append(intent);
  } catch (cause) {
    await file.stop();
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new RestoreFault('environment', `the audit log cannot be written: ${why}`, {
      cause,
      hint: `make room for it, or move ${auditName}*.log in ${dataDir} away`,
    });
  }
  try {
    const result = await run();
    await file.append(outcomeEntry(common(), 200, { note: says(result) }));
    return result;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    await file.append(outcomeEntry(common(), 500, { note: why.slice(0, longestReason) })).catch(() => undefined);
    throw error;
  } finally {
    await file.stop();
  }
}

/** Characters of the reason: a line of the log has a limit, and a reader needs no more. */
const longestReason = 1_000;
