// Finds the rights that Hostward lacks in the clusters behind it. Asks each cluster at start, after a reload, and again while a
// right is missing. In: the present settings. Out, for `status`: the missing rights of each cluster and the command that grants
// them.

import { Readable } from 'node:stream';
import type { Clock, Timer } from '../../clock.ts';
import { messageOf } from '../../cluster/errors.ts';
import type { RawConnection } from '../../cluster/wire/raw-connection.ts';
import type { ManagementSettings } from '../../config/settings/management-settings.ts';
import type { Log } from '../../log.ts';
import { firstLines } from '../../object/text/in-words.ts';
import { isRecord } from '../../object/text/json.ts';
import type { Directory } from '../scope/directory.ts';
import { proxyRules, type UpstreamPlace, type UpstreamRule } from './upstream-roles.ts';
import { type ProxiedDestination, UnusableUpstream, type Upstreams } from './upstreams.ts';

export interface UpstreamHealth {
  /** `cluster c1`. */
  name: string;
  /** For example `impersonate users hostward:user:alice`; at most `maxListed`. */
  missing: readonly string[];
  /** The reason why the cluster could not be asked. */
  trouble?: string;
  mend?: string;
}

/** Each question is a request. Missing rights beyond this number appear when they are used. */
const maxQuestions = 500;
const atOnce = 8;
/** Nobody would read a longer list. */
const maxListed = 10;
const askAgainMs = 60_000;
const maxAnswerBytes = 64 * 1024;

interface Question {
  group: string;
  resource: string;
  subresource: string;
  verb: string;
  name: string;
}

export class MissingRights {
  readonly #options: { directory: () => Directory; upstreams: Upstreams; clock: Clock; log: Log };
  #health: readonly UpstreamHealth[] = [];
  #round = 0;
  #timer: Timer | undefined;

  constructor(options: { directory: () => Directory; upstreams: Upstreams; clock: Clock; log: Log }) {
    this.#options = options;
  }

  /** Only clusters where a right is missing or the question failed. */
  get health(): readonly UpstreamHealth[] {
    return this.#health.filter(({ missing, trouble }) => missing.length > 0 || trouble !== undefined);
  }

  /** Asks again. Answers to an earlier call that arrive later are dropped. */
  async look(): Promise<void> {
    const round = ++this.#round;
    this.#timer?.cancel();
    const { settings } = this.#options.directory();
    const found = await Promise.all(placesIn(settings).map((place) => this.#healthAt(settings, place)));
    if (round !== this.#round) return;
    this.#health = found;
    const { log, clock } = this.#options;
    for (const { name, missing, trouble, mend } of this.health)
      log.warn(
        { component: 'management', upstream: name, missing, trouble, mend },
        'a cluster behind cannot be used fully',
      );
    if (this.health.length > 0) this.#timer = clock.after(askAgainMs, () => void this.look());
  }

  stop(): void {
    this.#round++;
    this.#timer?.cancel();
  }

  async #healthAt(settings: ManagementSettings, place: UpstreamPlace): Promise<UpstreamHealth> {
    const target: ProxiedDestination =
      'cluster' in place ? { kind: 'Cluster', ...place } : { kind: 'ProjectVirtualCluster', ...place };
    const name =
      'cluster' in place ? `cluster ${place.cluster}` : `virtual cluster ${place.project}/${place.virtualCluster}`;
    try {
      const { connection, mendRights } = await this.#options.upstreams.upstreamOf(target);
      const missing = await missingOf(connection, questionsFor(proxyRules(settings, place) ?? []));
      return { name, missing: firstLines(missing, maxListed), mend: mendRights };
    } catch (error) {
      const reasons = error instanceof UnusableUpstream ? error.reasons : [messageOf(error)];
      return { name, missing: [], trouble: reasons.join('; ') };
    }
  }
}

/** A place without a kubeconfig cannot be reached, so it needs no rights. */
function placesIn({ clusters, projects }: ManagementSettings): UpstreamPlace[] {
  const named = clusters.filter(({ kubeconfig }) => kubeconfig !== undefined).map(({ name }) => ({ cluster: name }));
  const instances = projects.flatMap(({ name: project, virtualClusters }) =>
    virtualClusters
      .filter(({ kubeconfig }) => kubeconfig !== undefined)
      .map(({ name }) => ({ project, virtualCluster: name })),
  );
  return [...named, ...instances];
}

function questionsFor(rules: readonly UpstreamRule[]): Question[] {
  const questions = rules.flatMap(({ apiGroups, resources, verbs, resourceNames = [''] }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((full) => {
        const slash = full.indexOf('/');
        const resource = slash < 0 ? full : full.slice(0, slash);
        const subresource = slash < 0 ? '' : full.slice(slash + 1);
        return verbs.flatMap((verb) => resourceNames.map((name) => ({ group, resource, subresource, verb, name })));
      }),
    ),
  );
  return questions.slice(0, maxQuestions);
}

async function missingOf(connection: RawConnection, questions: readonly Question[]): Promise<string[]> {
  const missing: string[] = [];
  for (let at = 0; at < questions.length; at += atOnce) {
    const some = questions.slice(at, at + atOnce);
    const allowed = await Promise.all(some.map((question) => isAllowed(connection, question)));
    missing.push(...some.filter((_, index) => !allowed[index]).map(questionText));
  }
  return missing;
}

function questionText({ verb, resource, subresource, name }: Question): string {
  const what = subresource === '' ? resource : `${resource}/${subresource}`;
  return name === '' ? `${verb} ${what}` : `${verb} ${what} ${name}`;
}

async function isAllowed(connection: RawConnection, question: Question): Promise<boolean> {
  const apiVersion = 'authorization.k8s.io/v1';
  const spec = { resourceAttributes: question };
  const body = Buffer.from(JSON.stringify({ apiVersion, kind: 'SelfSubjectAccessReview', spec }));
  const { answered, abort } = connection.send({
    method: 'POST',
    path: `/apis/${apiVersion}/selfsubjectaccessreviews`,
    headers: ['Content-Type', 'application/json', 'Accept', 'application/json', 'Content-Length', String(body.length)],
    body: Readable.from([body]),
    upgrade: undefined,
    isStream: false,
  });
  const answer = await answered;
  if (answer.kind === 'failed')
    throw new Error(answer.because === 'credentials' ? 'it refuses our credentials' : answer.message);
  if (answer.kind === 'upgraded') throw new Error('it answered with another protocol');
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of answer.response) {
    parts.push(part as Buffer);
    length += (part as Buffer).length;
    if (length > maxAnswerBytes) abort();
  }
  const review: unknown = JSON.parse(Buffer.concat(parts).toString('utf8'));
  const status = isRecord(review) ? review['status'] : undefined;
  if (!isRecord(status)) throw new Error(`it answered a review with ${answer.response.statusCode}`);
  return status['allowed'] === true;
}
