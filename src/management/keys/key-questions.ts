// Answers the questions of `hostward keys` that the API of keys does not serve, for administrators only: whether a key may send a
// request and why, which keys a key has made, and which identities a name has had. In: a request below /hostward/. Out: its answer
// in JSON.
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { isAbsolute } from 'node:path';
import type { Route } from '../../apiserver/chain/chain.ts';
import { deniedBecause } from '../../apiserver/request/denial.ts';
import type { User } from '../../apiserver/request/identity.ts';
import { badRequest, StatusFault } from '../../apiserver/request/status-fault.ts';
import type { Target } from '../../apiserver/request/target.ts';
import { readBody } from '../../apiserver/wire/request-body.ts';
import { sendJson } from '../../apiserver/wire/respond.ts';
import type { Clock } from '../../clock.ts';
import { notFound, pathNotFound, serviceUnavailable } from '../../object/meta/status.ts';
import { isRecord } from '../../object/text/json.ts';
import { allows, type Credential } from '../scope/allows.ts';
import { classify } from '../scope/classify.ts';
import type { Directory } from '../scope/directory.ts';
import {
  type AccessRequest,
  type Destination,
  instanceResource,
  keyResource,
  managementGroup,
  projectOfNamespace,
} from '../scope/request.ts';
import type { NamedRecord, Reattached, RecordKind } from './callers/records.ts';
import { credentialOf, type DeadBecause, type KeyWorld } from './life/credential.ts';
import { inTurns } from './life/in-turns.ts';
import type { KeyFacts } from './life/key-facts.ts';
import { keyState, titleOf } from './life/key-state.ts';
import { namesNoVisibleKey } from './life/visible.ts';
import type { Caller } from './rules/judgement.ts';
import { whyNotRotated } from './rules/rotation.ts';

export interface QuestionParts {
  world: KeyWorld;
  facts(): Iterable<KeyFacts>;
  /** The reason why a key is not valid, in the words of the API. */
  deadText: Readonly<Record<DeadBecause, string>>;
  isAdministrator(user: User): boolean;
  callerOf(of: { credential: Credential; facts: KeyFacts }): Caller;
  /** Whether the request came through the socket of this machine. */
  isHere(user: User): boolean;
  /** `taken`: there is something in the folder already. */
  backUp(folder: string, withSecrets: boolean): Promise<{ kind: 'done'; manifest: object } | { kind: 'taken' }>;
  record(kind: RecordKind, name: string): NamedRecord | undefined;
  reattach(kind: RecordKind, name: string, uid: string): Promise<Reattached>;
  clock: Clock;
}

/** A kind, a name and a uid fit into this many times over. */
const longestBody = 16 * 1024;
const recordKinds: readonly RecordKind[] = ['user', 'team', 'project', 'cluster', 'virtualCluster'];

export function keyQuestions(parts: QuestionParts): Route {
  return {
    takes: ({ path }) => path.startsWith('/hostward/'),
    async serve(exchange) {
      await exchange.begins();
      const { target, request, response, user } = exchange;
      if (!parts.isAdministrator(user))
        throw new StatusFault(deniedBecause(user, target, 'only an administrator with a key without scope may ask'));
      const answer = await answerTo(parts, target, request, parts.isHere(user));
      if (answer === undefined) throw new StatusFault(pathNotFound());
      await exchange.trail.ends(200);
      sendJson(response, 200, JSON.stringify(answer), { 'cache-control': 'no-store' });
    },
  };
}

async function answerTo(
  parts: QuestionParts,
  target: Target,
  request: IncomingMessage,
  isHere: boolean,
): Promise<object | undefined> {
  switch (`${request.method} ${target.path}`) {
    case 'GET /hostward/explain':
      return explanation(parts, target.query);
    case 'GET /hostward/made-by':
      return madeBy(parts, target.query);
    case 'GET /hostward/identities':
      return identities(parts, kindIn(target.query.get('kind')), target.query.get('name') ?? '');
    case 'POST /hostward/identities':
      return takeIdentity(parts, request);
    // A backup writes files on this machine, and only its operator may do that.
    case 'POST /hostward/backup':
      return isHere ? backedUp(parts, request) : undefined;
    default:
      return undefined;
  }
}

async function backedUp(parts: QuestionParts, request: IncomingMessage): Promise<object> {
  const { folder, withSecrets } = bodyOf((await readBody(request, longestBody)).toString('utf8'));
  if (typeof folder !== 'string' || !isAbsolute(folder)) throw badRequest('folder: want an absolute path');
  try {
    const taken = await parts.backUp(folder, withSecrets !== false);
    if (taken.kind === 'done') return taken.manifest;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const sentence = `the backup cannot be written: ${why}`;
    if (refusesFolder(error)) throw badRequest(`${sentence}; name a folder that the user of the server may write`);
    throw new StatusFault(serviceUnavailable(sentence));
  }
  throw badRequest(`there is something in ${folder} already; name a new folder`);
}

/** To try again does not help then, as it may with a full disk. */
function refusesFolder(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  return ['EACCES', 'ENAMETOOLONG', 'ENOENT', 'ENOTDIR', 'EPERM', 'EROFS'].includes(String(code));
}

/** Judged as a request of this moment. Without an address, the answer lists the networks instead of judging them. */
function explanation({ world, deadText, callerOf, clock }: QuestionParts, query: URLSearchParams): object {
  const key = query.get('key') ?? '';
  const facts = world.key(key);
  if (facts === undefined) throw new StatusFault(notFound({ group: managementGroup, resource: keyResource }, key));
  const [, method, url] = /^([A-Z]+) (\/\S*)$/.exec(query.get('request') ?? '') ?? [];
  if (method === undefined || url === undefined)
    throw badRequest('want a method and a path, like GET /kubernetes/management/api');
  const asked = classify({ method, url, isUpgrade: query.get('upgrade') === 'true' });
  if (asked.kind === 'bad') throw badRequest(asked.message);
  if (asked.kind === 'notFound')
    throw badRequest(
      'want a path that begins with /kubernetes/management, /kubernetes/cluster/NAME, /kubernetes/project/NAME/virtualcluster/NAME or /kubernetes/project/NAME/space/NAME',
    );
  const nowMs = clock.wallTime().getTime();
  const { kind, name } = facts.record.subject;
  const owner = `${kind} ${name}`;
  const missing = missingObject(world, asked.request);
  const about = {
    ...{ key, owner, state: titleOf(keyState(facts, world, nowMs)), request: `${method} ${url}` },
    ...(missing === undefined ? {} : { missing }),
  };
  const address = addressIn(query.get('from'));
  const judged = address === undefined ? { ...facts, networks: undefined } : facts;
  const networks = facts.networks === undefined ? {} : { networks: facts.networks.list };
  const found = credentialOf(judged, world, { nowMs, address });
  if (found.kind === 'dead') return { ...about, ...networks, allowed: false, reason: deadText[found.because] };
  const { allowed, reason, entry } = allows(world.directory, found.credential, asked.request);
  const absent =
    absentPlace(world.directory, asked.request.target) ?? hiddenKey(world, found.credential, asked.request);
  if (absent !== undefined)
    return { ...about, ...networks, allowed: false, reason: allowed ? absent : `${reason}; ${absent}` };
  const named = asked.request.isResource ? world.key(asked.request.name) : undefined;
  const refused = allowed && named !== undefined ? whyNotRotated(asked.request, callerOf(found), named) : undefined;
  if (refused !== undefined) return { ...about, ...networks, allowed: false, reason: refused };
  return { ...about, ...networks, allowed, reason, ...(entry === undefined ? {} : { entry }) };
}

/** A right to an object says nothing about whether there is one. */
function missingObject(world: KeyWorld, request: AccessRequest): string | undefined {
  if (!request.isResource || request.name === '' || request.target.kind !== 'Management') return undefined;
  const { resource, name, namespace } = request;
  if (resource === keyResource) return world.key(name) === undefined ? `access key ${name}` : undefined;
  if (resource !== instanceResource) return undefined;
  const project = projectOfNamespace(namespace) ?? '';
  return world.instanceUid(project, name) === undefined ? `virtual cluster ${project}/${name}` : undefined;
}

/** A right to keys is one to those that the caller sees. */
function hiddenKey(world: KeyWorld, credential: Credential, request: AccessRequest): string | undefined {
  if (!request.isResource || !namesNoVisibleKey(request, credential, world)) return undefined;
  const facts = world.key(request.name);
  if (facts === undefined) return undefined;
  const { kind, name } = facts.record.subject;
  return `the access key ${request.name} is of the ${kind} ${name} and does not exist for this key, so that every request for it is answered 404`;
}

/** Everybody is answered 404, administrators too. */
function absentPlace({ clusters, projects }: Directory, target: Destination): string | undefined {
  const missing = (what: string) => `the configuration has no ${what}, so that every request there is answered 404`;
  if (target.kind === 'Management') return undefined;
  if (target.kind === 'Cluster') return clusters.has(target.cluster) ? undefined : missing(`cluster ${target.cluster}`);
  const project = projects.get(target.project);
  if (project === undefined) return missing(`project ${target.project}`);
  const [list, name, what] =
    target.kind === 'ProjectSpace'
      ? [project.spaces, target.space, 'space']
      : [project.virtualClusters, target.virtualCluster, 'virtual cluster'];
  return list.some((one) => one.name === name) ? undefined : missing(`${what} ${target.project}/${name}`);
}

function addressIn(text: string | null): string | undefined {
  if (text === null) return undefined;
  if (isIP(text) !== 0) return text;
  throw badRequest('from: want an address, like 10.0.0.7');
}

async function madeBy({ facts }: QuestionParts, query: URLSearchParams): Promise<object> {
  const makers = new Set(query.getAll('uid'));
  const keys: { name: string; uid: string }[] = [];
  for await (const { name, record } of inTurns(facts())) {
    const maker = record.createdBy ?? record.madeBy;
    if (maker !== undefined && makers.has(maker.uid)) keys.push({ name, uid: record.uid });
  }
  return { keys };
}

async function identities({ record: recordOf, facts }: QuestionParts, kind: RecordKind, name: string): Promise<object> {
  const record = recordOf(kind, name);
  if (record === undefined) throw noSuchName(kind, name);
  const counts = new Map<string, number>();
  for await (const { record: of } of inTurns(facts()))
    counts.set(of.subject.uid, (counts.get(of.subject.uid) ?? 0) + 1);
  const keysOf = (uid: string) => counts.get(uid) ?? 0;
  const retired = record.retired.map(({ uid, atMs }) => ({
    uid,
    until: new Date(atMs).toISOString(),
    keys: keysOf(uid),
  }));
  return { kind, name, uid: record.uid, keys: keysOf(record.uid), retired };
}

async function takeIdentity(parts: QuestionParts, request: IncomingMessage): Promise<object> {
  const body = bodyOf((await readBody(request, longestBody)).toString('utf8'));
  const { name, uid } = body;
  const kind = kindIn(body['kind']);
  if (typeof name !== 'string' || typeof uid !== 'string') throw badRequest('want kind, name and uid as texts');
  if (parts.record(kind, name) === undefined) throw noSuchName(kind, name);
  const result = await parts.reattach(kind, name, uid);
  if (!result.ok) throw badRequest(result.message);
  return identities(parts, kind, name);
}

function bodyOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (isRecord(value)) return value;
  } catch {
    // The code below refuses a body that is not an object.
  }
  throw badRequest('want an object in JSON');
}

function kindIn(value: unknown): RecordKind {
  const kind = recordKinds.find((known) => known === value);
  if (kind === undefined) throw badRequest(`kind: want one of ${recordKinds.join(', ')}`);
  return kind;
}

function noSuchName(kind: string, name: string): StatusFault {
  return new StatusFault({ ...pathNotFound(), message: `the configuration never had a ${kind} "${name}"` });
}
