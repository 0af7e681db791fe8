// Access keys: who owns one, what it is worth now, who may see, make and change it. This file is OwnedAccessKey as data for the kit;
// `rules/` and `life/` judge (pure), `secret/` proves, `book/` keeps all keys in memory, `callers/` knows users and their rights.
// In: written objects, presented values, the configuration, the time. Out: keys, callers, and decisions about both.
// Must never know tokens, kubeconfigs and certificates, a cluster behind the server, or where a line of the audit goes.
import { text } from '../../apiserver/kinds/fields.ts';
import { allVerbs, type Column, type Kind, type SubresourceAction } from '../../apiserver/kinds/kind.ts';
import { age } from '../../apiserver/wire/table.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { actsAsAdministrator } from '../scope/allows.ts';
import type { Directory } from '../scope/directory.ts';
import { keyResource, managementGroup } from '../scope/request.ts';
import { ownerKey } from './book/key-book.ts';
import { expiryOfKey } from './book/stored-key.ts';
import type { Callers, Session } from './callers/callers.ts';
import type { KeyStrategy } from './key-strategy.ts';
import { isNameInScope } from './life/visible.ts';
import { keySpec, subjectOf } from './rules/key-spec.ts';
import { keySchemaName, rotationSchemaName } from './schema/key-schema.ts';

const ownerIndex = 'owner';

export function keyKind(parts: {
  strategy: KeyStrategy;
  callers: Callers;
  directory: () => Directory;
  /** A list of the caller at an older revision may show keys that the caller must not see now. */
  viewSince: (session: Session) => number;
  rotation: SubresourceAction;
}): Kind {
  const { strategy, callers, directory, viewSince, rotation } = parts;
  return {
    group: managementGroup,
    version: 'v1',
    kind: 'OwnedAccessKey',
    plural: keyResource,
    singular: 'ownedaccesskey',
    shortNames: ['oak'],
    namespaced: false,
    verbs: allVerbs,
    schema: keySchemaName,
    storage: keyResource,
    strategy,
    columns,
    subresources: {
      rotate: {
        mode: 'action',
        kind: 'OwnedAccessKeyRotation',
        group: managementGroup,
        version: 'v1',
        schema: rotationSchemaName,
        act: rotation,
        holdsSecret: true,
      },
    },
    selectableFields: {
      'spec.user': (object) => text(object, 'spec', 'user'),
      'spec.team': (object) => text(object, 'spec', 'team'),
    },
    indexes: {
      [ownerIndex]: (object) => ownersOf(object),
      'spec.user': (object) => [text(object, 'spec', 'user')],
      'spec.team': (object) => [text(object, 'spec', 'team')],
    },
    visibleTo(user) {
      const session = callers.sessionOf(user);
      if (session === undefined) return undefined;
      const since = viewSince(session);
      if (actsAsAdministrator(session.credential)) return { since };
      const { subject } = session.credential;
      const values = [ownerKey(subject), ...[...subject.teams].map((name) => ownerKey({ kind: 'team', name }))];
      const seen = new Set(values);
      return {
        sees: (object) =>
          ownersOf(object).some((owner) => seen.has(owner)) &&
          isNameInScope(object.metadata.name ?? '', session.credential, directory()),
        index: { field: ownerIndex, values: [...seen] },
        since,
      };
    },
  };
}

function ownersOf(object: KubeObject): string[] {
  const owner = subjectOf(keySpec(object));
  return owner === undefined ? [] : [ownerKey(owner)];
}

const statusDescription =
  'Active; Disabled, Expired or Terminating by itself; Suspended (owner not in the configuration), UserDisabled, InstanceGone (virtual cluster not in the configuration) or MakerInvalid (the key that made it has ended).';

const columns: readonly Column[] = [
  {
    name: 'Name',
    type: 'string',
    format: 'name',
    description: 'Name of the key.',
    priority: 0,
    cell: ({ metadata }) => metadata.name ?? '',
  },
  column('Owner', 'The user, team or subject that the key stands for.', ownerText),
  column('Status', statusDescription, (object) => text(object, 'status', 'phase')),
  column('Expires', 'When the key ends, from now on.', expiresText),
  column('Last used', 'How long ago the key was last used.', (object, now) => {
    const last = text(object, 'status', 'lastActivity');
    return last === '' ? '<never>' : age(last, now);
  }),
  column('Age', 'How long ago the key was made.', ({ metadata }, now) =>
    age(metadata.creationTimestamp ?? undefined, now),
  ),
  column('Display name', 'Name to show.', (object) => keySpec(object).displayName, 1),
  column('Type', 'Manager of the key.', (object) => keySpec(object).type, 1),
  column('Scope', 'Limits of the key.', scopeText, 1),
];

function column(name: string, description: string, cell: Column['cell'], priority = 0): Column {
  return { name, type: 'string', description, priority, cell };
}

function ownerText(object: KubeObject): string {
  const owner = subjectOf(keySpec(object));
  if (owner === undefined) return '';
  return owner.kind === 'user' ? owner.name : `${owner.kind}:${owner.name}`;
}

function expiresText(object: KubeObject, now: Date): string {
  const lastMs = Date.parse(text(object, 'status', 'lastActivity'));
  const expiryMs = expiryOfKey(object, Number.isNaN(lastMs) ? undefined : lastMs);
  if (expiryMs === undefined) return '<never>';
  if (expiryMs <= now.getTime()) return '<expired>';
  return age(now.toISOString(), new Date(expiryMs));
}

/** The number of entries in each list; `<none>` is an empty scope, which allows next to nothing. */
function scopeText(object: KubeObject): string {
  const { scope } = keySpec(object);
  if (scope === undefined) return '<all>';
  const lists = Object.entries(scope as Record<string, unknown>).flatMap(([name, list]) =>
    Array.isArray(list) && list.length > 0 ? `${name}=${list.length}` : [],
  );
  return lists.length === 0 ? '<none>' : lists.join(',');
}
