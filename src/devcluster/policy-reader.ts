// Reads all roles and bindings from the store, and keeps what it has read until the store changes. A write counts from the next
// request on, without the delay that a real cluster has.
import { storagePrefix } from '../apiserver/wire/stored-text.ts';
import type { KubeObject } from '../object/meta/object.ts';
import type { Store } from '../store/store.ts';
import { clusterRoleBindingKind, clusterRoleKind, roleBindingKind, roleKind } from './kinds/rbac-kinds.ts';
import type { Binding, Policy } from './rbac/policy.ts';
import { bindingIn, rulesIn } from './rbac/read-policy.ts';
import type { PolicyRule } from './rbac/rules.ts';

interface Parsed {
  revision: number;
  object: KubeObject;
}

export class PolicyReader {
  #store: Store;
  #policy: Policy | undefined;
  /** Revision of the store at which #policy was read. */
  #revision = 0;
  /** By key: most objects stay the same from one read to the next. */
  #parsed = new Map<string, Parsed>();

  constructor(store: Store) {
    this.#store = store;
  }

  readonly policy = async (): Promise<Policy> => {
    const revision = await this.#store.currentRevision();
    if (this.#policy !== undefined && revision === this.#revision) return this.#policy;
    const parsed = new Map<string, Parsed>();
    const read = (prefix: string) => this.#objects(prefix, parsed);
    const policy = policyOf({
      clusterRoles: await read(storagePrefix(clusterRoleKind, '')),
      roles: await read(storagePrefix(roleKind, '')),
      clusterRoleBindings: await read(storagePrefix(clusterRoleBindingKind, '')),
      roleBindings: await read(storagePrefix(roleBindingKind, '')),
    });
    this.#parsed = parsed;
    this.#policy = policy;
    this.#revision = revision;
    return policy;
  };

  async #objects(prefix: string, parsed: Map<string, Parsed>): Promise<KubeObject[]> {
    const page = await this.#store.list(prefix);
    if (page.kind !== 'page') throw new Error(`read the roles: the store has no list of "${prefix}"`);
    return page.records.map(({ key, revision, value }) => {
      const known = this.#parsed.get(key);
      const entry = known?.revision === revision ? known : { revision, object: JSON.parse(value) as KubeObject };
      parsed.set(key, entry);
      return entry.object;
    });
  }
}

function policyOf(found: Record<keyof Policy, KubeObject[]>): Policy {
  const nameOf = ({ metadata: { name = '' } }: KubeObject) => name;
  const placeOf = ({ metadata: { name = '', namespace = '' } }: KubeObject) => `${namespace}/${name}`;
  const roleBindings = new Map<string, Binding[]>();
  for (const binding of found.roleBindings.map(bindingIn)) {
    const known = roleBindings.get(binding.namespace);
    if (known === undefined) roleBindings.set(binding.namespace, [binding]);
    else known.push(binding);
  }
  const rules = (roles: KubeObject[], keyOf: (role: KubeObject) => string): Map<string, PolicyRule[]> =>
    new Map(roles.map((role) => [keyOf(role), rulesIn(role)]));
  return {
    clusterRoles: rules(found.clusterRoles, nameOf),
    roles: rules(found.roles, placeOf),
    clusterRoleBindings: found.clusterRoleBindings.map(bindingIn),
    roleBindings,
  };
}
