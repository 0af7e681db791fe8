// The contract of an API server, on which all our clients rely. The cases and the answers of a real kube-apiserver are data
// under fixtures/contract/; a server passes when it gives the same answers.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { ClusterCa } from '../../kube/start/certificates.ts';
import { ApiClient } from '../client.ts';
import { type Case, methods, type Step, statusOf } from './case.ts';
import { clientCertificateContract } from './client-certificates.ts';
import { discoveryContract } from './discovery.ts';
import { Player, type Shown } from './play.ts';
import { raceContract } from './race.ts';

export interface ApiServerSubject {
  url: string;
  /** The CA that signed the server's certificate. */
  caPem: string;
  adminToken: string;
  /** A user without rights. Without such a user, cases about rights are skipped. */
  strangerToken?: string;
  /** The authority whose client certificates the server takes; absent with the option `noClientCertificates`. */
  clientAuthority?: ClusterCa;
  /** Whether a balancer stands in front of several servers: each request has a connection of its own then. */
  isBalanced?: boolean;
  /** Compacts the history of the server. Without it, cases about compaction are skipped. */
  compact?: () => Promise<void>;
  stop(): Promise<void>;
}

type CertifiedSubject = ApiServerSubject & Required<Pick<ApiServerSubject, 'clientAuthority'>>;

export interface ContractOptions {
  /** The reason to skip the whole contract. */
  skip?: string | undefined;
  /** Whether this is the real server, whose answers UPDATE_GOLDEN=1 records. */
  isTruth?: boolean;
  /** The reason why the server takes no client certificates. */
  noClientCertificates?: string;
  /** Runs only these topics. */
  topics?: string[];
}

const folder = fileURLToPath(new URL('../../../fixtures/contract/', import.meta.url));

export function apiServerContract(
  name: string,
  makeServer: () => Promise<ApiServerSubject>,
  options: ContractOptions = {},
): void {
  if (options.skip !== undefined) {
    describe.skip(`${name}: the API server contract (skipped: ${options.skip})`, () => {
      it('waits for its programs', () => {});
    });
    return;
  }
  describe(`${name}: the API server contract`, () => {
    let subject: ApiServerSubject | undefined;
    let client: ApiClient | undefined;
    beforeAll(async () => {
      subject = await makeServer();
      const { url, caPem, adminToken: token, isBalanced: isOnce } = subject;
      client = new ApiClient({ url, caPem, token, isOnce });
    });
    afterAll(async () => {
      await client?.close();
      await subject?.stop();
    });
    const records = options.isTruth === true && process.env['UPDATE_GOLDEN'] === '1';
    discoveryContract({ client: () => client as ApiClient, records });
    raceContract({ client: () => client as ApiClient });
    const reason = options.noClientCertificates;
    if (reason === undefined) clientCertificateContract({ subject: () => subject as CertifiedSubject });
    else it.skip(`client certificates (skipped: ${reason})`, () => {});
    for (const topic of topics(options.topics)) {
      describe(topic, () => {
        const { cases, golden } = read(topic);
        const written: Record<string, Shown[]> = {};
        // Cases about time mostly wait, so they run concurrently.
        const run = basename(topic) === 'time' ? it.concurrent : it;
        for (const played of cases) {
          run(played.name, async ({ skip }) => {
            const reason = unableTo(played, subject);
            if (reason !== undefined) return skip(reason);
            const stage = {
              client: client as ApiClient,
              strangerToken: subject?.strangerToken,
              compact: subject?.compact,
            };
            const shown = await playCase(played, stage, records ? undefined : (golden[played.name] ?? []));
            if (records) written[played.name] = shown;
          });
        }
        afterAll(() => {
          if (records) writeFileSync(`${folder}${topic}.golden.json`, `${JSON.stringify(written, undefined, 1)}\n`);
        });
      });
    }
  });
}

async function playCase(
  played: Case,
  stage: ConstructorParameters<typeof Player>[0],
  golden: Shown[] | undefined,
): Promise<Shown[]> {
  const player = new Player(stage, played);
  const all: Shown[] = [];
  try {
    await player.start();
    for (const step of played.steps) {
      const shown = await player.play(step);
      if (shown === undefined) continue;
      if (shown.status !== undefined && shown.status !== statusOf(step))
        expect.fail(`${shown.step}: wanted ${statusOf(step)}, got ${shown.status}: ${JSON.stringify(shown.body)}`);
      if (golden !== undefined) expect(shown).toEqual(golden[all.length]);
      all.push(shown);
    }
    return all;
  } finally {
    player.stop();
  }
}

function unableTo(played: Case, subject: ApiServerSubject | undefined): string | undefined {
  if (subject?.compact === undefined && played.steps.some((step) => step.compact === true))
    return 'this server cannot be told to forget its history';
  if (subject?.strangerToken === undefined && played.steps.some((step) => step.token === 'stranger'))
    return 'this server has no user without rights';
  return undefined;
}

/** The files of cases without their ending, as `group/topic`. */
function topics(wanted: string[] | undefined): string[] {
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => /[/]\w+\.yaml$/.test(file));
  return all
    .map((file) => file.replace(/\.yaml$/, ''))
    .filter((topic) => wanted === undefined || wanted.includes(basename(topic)))
    .sort();
}

function read(topic: string): { cases: Case[]; golden: Record<string, Shown[]> } {
  const cases = parse(readFileSync(`${folder}${topic}.yaml`, 'utf8')) as Case[];
  for (const { name, steps } of cases) {
    if (cases.filter((other) => other.name === name).length > 1)
      throw new Error(`${topic}.yaml: two cases say "${name}"`);
    for (const step of steps) checkStep(topic, name, step);
  }
  const file = `${folder}${topic}.golden.json`;
  return { cases, golden: existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, Shown[]>) : {} };
}

/** A case with a misspelt verb would do nothing and pass. */
function checkStep(topic: string, name: string, step: Step): void {
  const verbs = [...methods, 'WATCH', 'events', 'ends', 'compact', 'many'] as const;
  const others = 'body base64 as accept contentType headers token is eventually count save only managedFields'.split(
    ' ',
  );
  const found = Object.keys(step);
  const unknown = found.filter((key) => !(verbs as readonly string[]).includes(key) && !others.includes(key));
  if (unknown.length > 0 || found.filter((key) => (verbs as readonly string[]).includes(key)).length !== 1)
    throw new Error(`${topic}.yaml: "${name}" has a step that cannot be played: ${JSON.stringify(step)}`);
}
