// The facts of a key that authentication needs, read from its object once for each version.

import type { KubeObject } from '../../../object/meta/object.ts';
import { isRecord } from '../../../object/text/json.ts';
import { parseScope } from '../../scope/parse-scope.ts';
import type { MaybeScope } from '../../scope/scope.ts';
import { cidrsAnnotation, type SourceNetworks, sourceNetworks } from '../rules/source-networks.ts';
import type { KeyRecord } from '../secret/key-record.ts';
import type { KeyTimes } from './expiry.ts';

export interface KeyFacts {
  name: string;
  record: KeyRecord;
  times: KeyTimes;
  isDeleted: boolean;
  isDisabled: boolean;
  groups: readonly string[];
  scope: MaybeScope;
  /** The scope as in the object; undefined = no scope. */
  scopeValue: Record<string, unknown> | undefined;
  /** Undefined = from everywhere. */
  networks: SourceNetworks | undefined;
  /** The text that the networks were read from. */
  networksText: string | undefined;
}

/** The object is validated already. A value that is wrong nevertheless allows less, never more. */
export function keyFacts(object: KubeObject, record: KeyRecord): KeyFacts {
  const spec = isRecord(object['spec']) ? object['spec'] : {};
  const { name = '', creationTimestamp, deletionTimestamp, annotations } = object.metadata;
  const ttl = spec['ttl'];
  const scope = spec['scope'];
  const cidrs = annotations?.[cidrsAnnotation];
  const groups = Array.isArray(spec['groups']) ? spec['groups'].filter((group) => typeof group === 'string') : [];
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
    groups,
    scope: scope === undefined || scope === null ? undefined : parseScope(scope).scope,
    // A scope that is no object has no entries, and allows as little as an empty one.
    scopeValue: scope === undefined || scope === null ? undefined : isRecord(scope) ? scope : {},
    networks: cidrs === undefined ? undefined : sourceNetworks(cidrs),
    networksText: cidrs,
  };
}
