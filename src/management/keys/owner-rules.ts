// Rules for owner references: an object without a namespace cannot have an owner in a namespace, and only a caller who may delete
// the owner can set blockOwnerDeletion.

import type { Kind } from '../../apiserver/kinds/kind.ts';
import type { Admission } from '../../apiserver/kinds/kit.ts';
import type { Decision, User } from '../../apiserver/request/identity.ts';
import { StatusFault } from '../../apiserver/request/status-fault.ts';
import type { Target } from '../../apiserver/request/target.ts';
import { errorsOfEach, type FieldError, forbiddenField, invalidValue } from '../../object/meta/field-error.ts';
import type { KubeObject, OwnerReference } from '../../object/meta/object.ts';
import { invalid } from '../../object/meta/status.ts';

interface Deciding {
  decideVisible(user: User, target: Target): Decision;
}

export function ownerRules(kinds: () => readonly Kind[], rights: Deciding): Admission {
  return ({ operation, kind, name, object, old, user }) => {
    if (operation === 'delete' || object === undefined) return;
    // The kit itself works off references that are there.
    if (user.name === 'system:controller') return;
    const before = new Map((old?.metadata.ownerReferences ?? []).map((reference) => [reference.uid, reference]));
    const errors = errorsOfEach(object.metadata.ownerReferences ?? [], (reference, index): FieldError[] => {
      const known = before.get(reference.uid);
      const isNewBlock = reference.blockOwnerDeletion === true && known?.blockOwnerDeletion !== true;
      const path = `metadata.ownerReferences[${index}]`;
      const owner = kindOf(kinds(), reference);
      if (owner?.namespaced === true && !kind.namespaced) {
        const why = 'an object that is in no namespace cannot have an owner that is in one';
        return known === undefined ? [invalidValue(path, reference.kind, why)] : [];
      }
      if (!isNewBlock) return [];
      if (owner !== undefined && rights.decideVisible(user, deletionOf(owner, reference)).allowed) return [];
      const why =
        owner === undefined
          ? 'an owner of a kind that is not served here cannot be blocked'
          : 'cannot be set by somebody who may not delete the owner';
      return [forbiddenField(`${path}.blockOwnerDeletion`, why)];
    });
    if (errors.length > 0) throw new StatusFault(invalid(kind, name, errors));
  };
}

/** An owner of a kind that is not served is kept and never looked for. */
export function ownerWarnings(kinds: () => readonly Kind[], object: KubeObject): string[] {
  return (object.metadata.ownerReferences ?? []).flatMap((reference, index) =>
    kindOf(kinds(), reference) === undefined
      ? [`metadata.ownerReferences[${index}]: ${reference.kind} is not served here, so its end is not noticed`]
      : [],
  );
}

function kindOf(kinds: readonly Kind[], { apiVersion, kind }: OwnerReference): Kind | undefined {
  const slash = apiVersion.indexOf('/');
  const group = slash < 0 ? '' : apiVersion.slice(0, slash);
  return kinds.find((one) => one.group === group && one.kind === kind);
}

function deletionOf({ group, version, plural }: Kind, { name }: OwnerReference): Target {
  const about = { group, version, namespace: '', resource: plural, name, subresource: '' };
  return { isResource: true, verb: 'delete', path: '', ...about, query: new URLSearchParams() };
}
