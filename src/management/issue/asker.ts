// Who asks for a kubeconfig, and what the forms of a kubeconfig need of the server: names, limits, addresses, and a way to make a key.
import type { User } from '../../apiserver/request/identity.ts';
import type { Clock } from '../../clock.ts';
import type { KeyLimits, ManagementVirtualCluster } from '../../config/settings/management-settings.ts';
import type { KeyFacts } from '../keys/life/key-facts.ts';
import type { Caller } from '../keys/rules/judgement.ts';
import type { KubeconfigMark } from '../keys/secret/key-record.ts';
import type { Directory } from '../scope/directory.ts';

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
  /** PEM of what the management server is trusted by. */
  authority(): Promise<string>;
  /** PEM of what the ingress listener is trusted by, where an instance has no certificate of its own. */
  ingressAuthority(): Promise<string>;
  /** Undefined in a dry run. */
  makeKey(user: User, mark: KubeconfigMark, submitted: object, dryRun: boolean): Promise<MadeKey | undefined>;
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

/** What is made comes to be a moment later, so that a second of the rest is kept back. */
const reservedSeconds = 1;

/** Undefined: the calling key does not end. */
export function leftSeconds({ caller }: Asker, nowMs: number): number | undefined {
  if (caller.expiryMs === undefined) return undefined;
  return Math.max(1, Math.floor((caller.expiryMs - nowMs) / 1000) - reservedSeconds);
}
