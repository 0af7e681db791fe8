// Whether a cluster encrypts the Secrets that it stores: its API server counts what it encrypts, and says so among its metrics. In: the
// cluster of the records. Out: a verdict. The configuration of the encryption itself can be read by nobody over the API.
import type { WatchStreamEnd } from '../../../../cluster/wire/connection.ts';
import type { Check } from '../../patient/check.ts';
import { couldNotCheck, type Finding, ok, unanswered, warning } from '../../patient/finding.ts';
import type { Patient } from '../../patient/patient.ts';
import { isShared } from './shared-store.ts';

const counter = 'apiserver_storage_transformation_operations_total';
/** What Kubernetes puts before every encrypted value; a value that is stored as it is has another prefix, or is not counted at all. */
const encryptedPrefix = 'k8s:enc:';
const answerWithinMs = 10_000;
/** No line that matters is longer. */
const maxLineLength = 4_096;

const byHand = 'ask who runs the cluster whether its API server has an --encryption-provider-config that names secrets';

export const isEncrypted: Check = {
  code: 'HW-815',
  needs: ['HW-101', 'HW-804'],
  applies: isShared,
  async look(patient) {
    const { used, end } = await transformers(patient);
    if (end.kind !== 'ended') return notRead(end);
    const encrypted = used.find((prefix) => prefix.startsWith(encryptedPrefix));
    if (encrypted !== undefined) return ok(`Secrets are written as ${encrypted.replace(/:$/, '')}`);
    return warning(
      'the API server of the records stores Secrets as plain text: whoever has its etcd, or a backup of it, reads who owns which key',
      { mend: `${byHand}; hosted clusters switch it on in their own settings` },
    );
  },
};

/** How Secrets are written by that API server since its start. */
async function transformers({ recordsCluster }: Patient): Promise<{ used: string[]; end: WatchStreamEnd }> {
  const lines = new MatchingLines(counter);
  const stream = recordsCluster.connection.stream(
    { path: '/metrics', accept: 'text/plain', headersTimeoutMs: answerWithinMs, silenceMs: answerWithinMs },
    { opened: () => {}, data: (chunk) => lines.add(chunk) },
  );
  const end = await stream.ended;
  return { used: storedAs(lines.found), end };
}

/** Of lines of the exposition: the prefixes with which Secrets are written or, before the first write, with which they are read. */
export function storedAs(lines: readonly string[]): string[] {
  const counts = lines
    .filter((line) => line.startsWith(`${counter}{`))
    .map((line) => Object.fromEntries([...line.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value])))
    .filter(({ resource, status }) => resource === 'secrets' && status === 'OK');
  const written = counts.filter((labels) => labels['transformation_type'] === 'to_storage');
  return (written.length > 0 ? written : counts).map((labels) => labels['transformer_prefix'] ?? '');
}

function notRead(end: Exclude<WatchStreamEnd, { kind: 'ended' }>): Finding {
  const answer = end.kind === 'answered' ? end.answer.kind : undefined;
  if (answer === 'forbidden')
    return couldNotCheck('this account may not read /metrics of the API server, which tells it', { mend: byHand });
  if (answer === 'notFound')
    return couldNotCheck('this API server has no /metrics, which would tell it', { mend: byHand });
  const said = 'message' in end ? end.message : end.kind === 'answered' ? end.answer.message : 'interrupted';
  return unanswered(`the metrics of the API server cannot be read: ${said}`);
}

/** Metrics of an API server are megabytes, of which a few lines matter. */
class MatchingLines {
  readonly found: string[] = [];
  readonly #start: string;
  #rest = '';

  constructor(start: string) {
    this.#start = start;
  }

  add(chunk: Buffer): void {
    const lines = (this.#rest + chunk.toString('latin1')).split('\n');
    this.#rest = (lines.pop() ?? '').slice(0, maxLineLength);
    for (const line of lines) if (line.startsWith(this.#start)) this.found.push(line);
  }
}
