// Authenticates the sender of a request: from the bearer token to the user of the kit, and from that user back to the verified
// credential. Every request with a good key counts as a use of the key, even if the request is refused later.
import type { ServedRequest } from '../../../apiserver/chain/served-request.ts';
import { bearerIn, type User } from '../../../apiserver/request/identity.ts';
import { StatusFault } from '../../../apiserver/request/status-fault.ts';
import type { Target } from '../../../apiserver/request/target.ts';
import type { Clock } from '../../../clock.ts';
import { forbidden, type Status, serviceUnavailable, soonSeconds, unauthorized } from '../../../object/meta/status.ts';
import { actsAsAdministrator, type Credential } from '../../scope/allows.ts';
import { type Directory, isMember, type Subject } from '../../scope/directory.ts';
import type { KeyBook } from '../book/key-book.ts';
import type { Activity } from '../life/activity.ts';
import { credentialOf, type DeadBecause, type KeyWorld, makersOf } from '../life/credential.ts';
import { expiryOf } from '../life/expiry.ts';
import type { KeyFacts } from '../life/key-facts.ts';
import type { Caller } from '../rules/judgement.ts';
import { checkSecret } from '../secret/check-secret.ts';
import type { KubeconfigMark } from '../secret/key-record.ts';
import type { Peppers } from '../secret/pepper.ts';
import type { Misses } from './misses.ts';

/** The verified credential of one request. */
export interface Session {
  credential: Credential;
  /** Undefined for the program itself. */
  facts: KeyFacts | undefined;
  /** The key was proved by the value that a rotation left. */
  isFormer?: boolean;
  /** The rights at the time of the request, to be compared with later rights. */
  directory: Directory;
  address: string | undefined;
  /** For a credential that is not a key, e.g. a token: why an open stream may not go on; undefined = it may. */
  endedBecause?(): string | undefined;
  /** Of the program itself: the user of this machine for whom it acts. */
  osUser?: string;
  /** The session makes the key of a kubeconfig. */
  kubeconfig?: KubeconfigMark;
  /** The end of the client certificate, if the key was proved by one. */
  certificateEndMs?: number;
}

export interface CallerOptions {
  book: KeyBook;
  world: KeyWorld;
  peppers: Peppers;
  activity: Activity;
  clock: Clock;
  /** Where other replicas make keys; absent = what is unknown here does not exist. */
  misses?: Misses;
  /** Asks the other replicas for uses of keys. */
  usesOfOthers?: () => Promise<void>;
}

const authenticated = 'system:authenticated';
const anonymous: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
const openPath = /^\/(?:healthz|livez|readyz|version)(?:\/[\w-]*)?$/;

/** Paths without authentication, for probes, load balancers and verifiers of tokens. */
export function isOpen({ path, outside }: Target): boolean {
  return openPath.test(outside ?? path) || outside === '/.well-known/jwks.json';
}

export class Callers {
  readonly #parts: CallerOptions;
  readonly #sessions = new WeakMap<User, Session>();

  constructor(parts: CallerOptions) {
    this.#parts = parts;
  }

  async authenticate({ request, target }: Pick<ServedRequest, 'request' | 'target'>): Promise<User | undefined> {
    const header = request.headers.authorization;
    if (header === undefined) return isOpen(target) ? anonymous : undefined;
    // Node takes the first of several headers, and a proxy before us may have judged by another.
    if ((request.headersDistinct['authorization'] ?? []).length > 1) return undefined;
    const text = bearerIn(header);
    return text === undefined ? undefined : this.authenticateKey(text, request.socket.remoteAddress);
  }

  /** For a key from another place than the header Authorization. */
  async authenticateKey(text: string, address: string | undefined): Promise<User | undefined> {
    const { book, peppers, clock, activity, misses } = this.#parts;
    const nowMs = clock.wallTime().getTime();
    let checked = checkSecret(text, book, peppers, nowMs);
    if (checked.kind === 'unknown' && misses !== undefined) {
      await misses.look(address ?? '', () => book.former.has(text, peppers));
      checked = checkSecret(text, book, peppers, nowMs);
    }
    const facts = checked.kind === 'proved' ? book.key(checked.record.name) : undefined;
    if (checked.kind !== 'proved' || facts?.record.uid !== checked.record.uid) return undefined;
    let found = credentialOf(facts, this.#parts.world, { nowMs, address });
    if (found.kind === 'dead' && found.because === 'expired' && facts.times.afterLastActivity) {
      await this.#askForUses();
      found = credentialOf(facts, this.#parts.world, { nowMs, address });
    }
    // The holder of the value may learn why it is not valid.
    if (found.kind === 'dead') throw new StatusFault(unauthorized(deadText[found.because]));
    try {
      await activity.used(facts.record.uid, facts.times.ttl);
    } catch {
      throw new StatusFault(serviceUnavailable('the use of the key cannot be written down; try again', soonSeconds));
    }
    const { directory } = this.#parts.world;
    return this.userOf({ credential: found.credential, facts, isFormer: checked.isFormer, directory, address });
  }

  /** A key that looks idle here may be in use on another replica. */
  async #askForUses(): Promise<void> {
    try {
      await this.#parts.usesOfOthers?.();
    } catch {
      throw new StatusFault(serviceUnavailable('the last use of the key cannot be read now', soonSeconds));
    }
  }

  sessionOf(user: User): Session | undefined {
    return this.#sessions.get(user);
  }

  /** For what needs an administrator and a key without scope. */
  isAdministrator(user: User): boolean {
    const session = this.#sessions.get(user);
    return session !== undefined && actsAsAdministrator(session.credential);
  }

  /** The program itself, for keys that are made on the machine: an administrator without a key. */
  programFor(osUser: string): User {
    const subject: Subject = {
      kind: 'user',
      name: 'admin',
      groups: new Set(),
      teams: new Set(),
      isAdministrator: true,
    };
    return this.userOf({
      credential: { subject, keyName: '', scopes: [undefined] },
      facts: undefined,
      directory: this.#parts.world.directory,
      address: undefined,
      osUser,
    });
  }

  /** The same user, for making the key of a kubeconfig. */
  forKubeconfig(user: User, mark: KubeconfigMark): User {
    const session = this.#sessions.get(user);
    if (session === undefined) throw new Error('make the key of a kubeconfig: want an authenticated caller');
    return this.userOf({ ...session, kubeconfig: mark });
  }

  /** For a client certificate that was issued through this key. */
  forCertificate(of: { credential: Credential; facts: KeyFacts; endMs: number; address: string | undefined }): User {
    const { credential, facts, endMs, address } = of;
    return this.userOf({
      credential,
      facts,
      directory: this.#parts.world.directory,
      address,
      certificateEndMs: endMs,
    });
  }

  callerOf({ credential, facts }: Pick<Session, 'credential' | 'facts'>): Caller {
    const world = this.#parts.world;
    const expiryMs = facts === undefined ? undefined : expiryOf(facts.times, world.lastActivityMs(facts));
    const makers = facts === undefined ? 0 : (makersOf(facts, world)?.length ?? 0);
    const isAdministrator = actsAsAdministrator(credential);
    return { credential, isAdministrator, expiryMs, networks: facts?.networksText, makers };
  }

  /** Why an open stream of this user may not go on: 401 for a dead key, 403 for one that may do something else now. */
  endOf(user: User): Status | undefined {
    const session = this.#sessions.get(user);
    if (session?.endedBecause !== undefined) {
      const because = session.endedBecause();
      return because === undefined ? undefined : unauthorized(because);
    }
    if (session?.facts === undefined) return undefined;
    const { facts, credential, directory, address, certificateEndMs = Number.POSITIVE_INFINITY } = session;
    const { world } = this.#parts;
    const now = this.#parts.book.key(facts.name);
    if (now?.record.uid !== facts.record.uid) return unauthorized('the access key was deleted');
    const nowMs = this.#parts.clock.wallTime().getTime();
    if (nowMs >= certificateEndMs) return unauthorized('the client certificate has expired');
    const found = credentialOf(now, world, { nowMs, address });
    if (found.kind === 'dead') return unauthorized(deadText[found.because]);
    if (isRotated(session, now, nowMs)) return unauthorized('the value of the access key was rotated');
    // Most looks find no change, so this cheap comparison comes first. The scopes of the makers change without the key.
    const hasSameScopes = found.credential.scopes.every((scope, nth) => scope === credential.scopes[nth]);
    if (now === facts && directory === world.directory && hasSameScopes) return undefined;
    const isSame = viewOf(now, found.credential, world.directory) === viewOf(facts, credential, directory);
    return isSame ? undefined : changedRights;
  }

  /** The user of a verified credential, a key or another one. */
  userOf(session: Session): User {
    const { subject, keyName } = session.credential;
    const uid = session.facts?.record.subject.uid;
    const user: User = {
      name: subject.kind === 'user' ? subject.name : `${subject.kind}:${subject.name}`,
      ...(uid === undefined ? {} : { uid }),
      groups: [...subject.groups, authenticated],
      ...(keyName === '' ? {} : { extra: { 'hostward.dev/key': [keyName] } }),
    };
    this.#sessions.set(user, session);
    return user;
  }
}

/** Whether the value that proved the key is no longer valid. Never so for another proof, such as a certificate. */
function isRotated({ isFormer, facts }: Session, { record }: KeyFacts, nowMs: number): boolean {
  const proof = isFormer === undefined ? undefined : facts?.record.secrets[isFormer ? 1 : 0];
  if (proof === undefined) return false;
  const kept = record.secrets.find(({ digest }) => digest === proof.digest);
  return kept === undefined || (kept.validUntilMs !== undefined && nowMs >= kept.validUntilMs);
}

const changedRights = forbidden({ group: '', resource: '' }, '', 'the rights of the access key have changed');

/** Everything that decides what the credential may see and do. */
function viewOf({ record }: KeyFacts, { subject, scopes }: Credential, { settings }: Directory): string {
  const { groups, teams, isAdministrator } = subject;
  const roles = settings.projects.flatMap(({ name, members }) =>
    members.filter((member) => isMember(member, subject)).map(({ role }) => `${name} ${role}`),
  );
  const { tokenGeneration } = record;
  return JSON.stringify([tokenGeneration, isAdministrator, [...groups].sort(), [...teams].sort(), roles, scopes]);
}

export const deadText: Record<DeadBecause, string> = {
  deleted: 'the access key is being deleted',
  disabled: 'the access key is disabled',
  expired: 'the access key has expired',
  'subject gone': 'the owner of the access key is not in the configuration',
  'instance gone': 'the virtual cluster of the kubeconfig is not in the configuration',
  'subject disabled': 'the owner of the access key is disabled',
  network: 'the access key is not valid from your address',
  maker: 'the access key that made this one is no longer valid',
};
