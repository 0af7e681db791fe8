// The record of a key next to its object: the digests of its secret, the uid of its owner, and its maker. It is never part of an
// answer.
import type { SubjectKind } from '../../scope/directory.ts';
import type { SecretDigest } from './pepper.ts';

export interface StoredSecret extends SecretDigest {
  /** Milliseconds since the epoch; a rotated secret is valid until then. Undefined = as long as the key. */
  validUntilMs: number | undefined;
  /** Brought by a client: found by its digest, for it has no id. */
  isSupplied: boolean;
}

export interface KubeconfigMark {
  project: string;
  virtualCluster: string;
  /** uid of the instance. */
  instance: string;
}

export interface KeyRecord {
  name: string;
  uid: string;
  /** The id in the text of the key; empty while there are only supplied secrets. */
  id: string;
  /** The valid secret first, then the one that a rotation left. Never more than two. */
  secrets: readonly StoredSecret[];
  subject: { kind: SubjectKind; name: string; uid: string };
  /** Those of spec.groups that an administrator granted. */
  grantedGroups: readonly string[];
  /** The scoped key that made this one: it lives only while that one does. */
  madeBy: { name: string; uid: string } | undefined;
  /** The key that made this one, with a scope or without; absent when no key did, and in keys older than this field. */
  createdBy?: { name: string; uid: string };
  /** The person who was shown the present value, at the creation or the last rotation, also through a key of a team. Absent when it
   * was made on the machine, and in keys older than this field. */
  holder?: { name: string; uid: string };
  /** The person who was shown the value that a rotation left for an overlap. */
  formerHolder?: { name: string; uid: string };
  /** The key is in a kubeconfig of this virtual cluster: it issues nothing, and ends with the instance. */
  kubeconfig?: KubeconfigMark;
  /** The expiry was written down, so that those who watch the key learn of it. */
  isExpiryTold?: true;
  /** Raised with any change of scope, groups, disabled or ttl, and with every rotation: direct tokens made before are dead. */
  tokenGeneration: number;
}

/** At most two secrets at a time, so that checking a key always costs the same. */
export const secretSlots = 2;
