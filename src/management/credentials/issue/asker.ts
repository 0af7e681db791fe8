// Collects the caller's facts for a kubeconfig, and the server's means for its forms: names, limits, addresses, and a way to make
// a key.
import type { User } from '../../../apiserver/request/identity.ts';
import type { Clock } from '../../../clock.ts';
import type { KeyLimits, ManagementVirtualCluster } from '../../../config/settings/management-settings.ts';
import type { KeyFacts } from '../../keys/life/key-facts.ts';
import type { Caller } from '../../keys/rules/judgement.ts';
import type { KubeconfigMark } from '../../keys/secret/key-record.ts';
import type { Directory } from '../../scope/directory.ts';
import type { Making } from './make-key.ts';

export interface Asker {
  caller: Caller;
  /** Undefined for the program itself. */
  facts: KeyFacts | undefined;
}

export interface Instance {
  project: string;
  name: string;
  uid: string;
  settings: ManagementVirtualCluster;
}

export interface IssueParts {
  asker(user: User): Asker | undefined;
  directory(): Directory;
  limits(): KeyLimits;
  instanceUid(project: string, name: string): string | undefined;
  /** Host names that spec.server may have; empty = all. */
  allowedServers(): readonly string[];
  clock: Clock;
  baseURL: string;
  /** PEM text of the authority of the management server's certificate. */
  authority(): Promise<string>;
  /** PEM text of the authority that signs for instances without a certificate of their own. */
  ingressAuthority(): Promise<string>;
  /** Undefined in a dry run. */
  makeKey(ctx: Making, mark: KubeconfigMark, submitted: object): Promise<MadeKey | undefined>;
}

export interface MadeKey {
  name: string;
  value: string;
}

export function instanceNamed(
  parts: Pick<IssueParts, 'directory' | 'instanceUid'>,
  project: string,
  name: string,
): Instance | undefined {
  const settings = parts
    .directory()
    .projects.get(project)
    ?.virtualClusters.find((one) => one.name === name);
  const uid = parts.instanceUid(project, name);
  return settings === undefined || uid === undefined ? undefined : { project, name, uid, settings };
}

/** The credential is made a moment after this computation, and must not outlive the calling key. */
const secondsUntilMade = 1;

/** Undefined: the calling key does not end. */
export function leftSeconds({ caller }: Asker, nowMs: number): number | undefined {
  if (caller.expiryMs === undefined) return undefined;
  return Math.max(1, Math.floor((caller.expiryMs - nowMs) / 1000) - secondsUntilMade);
}
