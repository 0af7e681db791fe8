// The facts of a key that authentication needs, read from its object once for each version.

import type { KubeObject } from '../../../object/meta/object.ts';
import { isRecord, textsIn } from '../../../object/text/json.ts';
import { cidrsAnnotation, type SourceNetworks, sourceNetworks } from '../../scope/patterns/source-networks.ts';
import type { KeyRecord } from '../secret/key-record.ts';
import type { KeyTimes } from './expiry.ts';
import { KeyScope, RecentScopes } from './recent-scopes.ts';

export interface KeyFacts {
  name: string;
  record: KeyRecord;
  times: KeyTimes;
  isDeleted: boolean;
  isDisabled: boolean;
  groups: readonly string[];
  /** Undefined = no scope. A value and not an accessor, because a copy of the facts that lost its scope would allow everything. */
  scoped: KeyScope | undefined;
  /** Undefined = from everywhere. */
  networks: SourceNetworks | undefined;
  /** The text that the networks were read from. */
  networksText: string | undefined;
}

/** The object is validated already. A value that is wrong nevertheless allows less, never more. */
export function keyFacts(object: KubeObject, record: KeyRecord, scopes = new RecentScopes()): KeyFacts {
  const spec = isRecord(object['spec']) ? object['spec'] : {};
  const { name = '', creationTimestamp, deletionTimestamp, annotations } = object.metadata;
  const { ttl, groups, scope = null } = spec;
  const cidrs = annotations?.[cidrsAnnotation];
  return {
    name,
    record,
    times: {
      creationMs: Date.parse(creationTimestamp ?? '') || 0,
      ttl: typeof ttl === 'number' ? ttl : 0,
      afterLastActivity: spec['ttlAfterLastActivity'] === true,
    },
    isDeleted: deletionTimestamp !== undefined,
    isDisabled: spec['disabled'] === true,
    groups: textsIn(groups),
    scoped: scope === null ? undefined : new KeyScope(JSON.stringify(scope), scopes),
    networks: cidrs === undefined ? undefined : sourceNetworks(cidrs),
    networksText: cidrs,
  };
}
