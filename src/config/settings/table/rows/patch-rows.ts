// The rows of the settings table for one entry of a list of patches. Three lists have such entries.
import type { Setting } from './setting.ts';

const text = { kind: 'text', rule: 'any' } as const;

/** The member of Settings that holds a list of patches. */
type PatchField = Pick<Setting, 'field' | 'change'>;

export function patchRows(list: string, of: PatchField): Setting[] {
  const item = `${list}[]`;
  return [
    {
      path: `${item}.path`,
      shape: text,
      required: true,
      ...of,
      about:
        'Field to patch; `*` selects every element, `["key"]` one map key, an empty path the whole object. A path that is not found is not applied.',
    },
    {
      path: `${item}.expression`,
      shape: text,
      ...of,
      about: 'JavaScript expression that makes the host value of the virtual `value`.',
    },
    {
      path: `${item}.reverseExpression`,
      shape: text,
      ...of,
      about: 'JavaScript expression that makes the virtual value of the host `value`.',
    },
    {
      path: `${item}.reference`,
      shape: { kind: 'map' },
      ...of,
      about: 'The value names another object; the name is translated as that object is.',
    },
    ...(['apiVersion', 'kind'] as const).map((key): Setting => {
      const about = `${key} of the object referred to.`;
      return { path: `${item}.reference.${key}`, shape: text, required: true, ...of, about };
    }),
    ...(['apiVersion', 'kind', 'name', 'namespace'] as const).map((key): Setting => {
      const about = `Where the ${key} is below the value, if it is there.`;
      return { path: `${item}.reference.${key}Path`, shape: text, ...of, about };
    }),
    {
      path: `${item}.labels`,
      shape: { kind: 'map' },
      ...of,
      about: 'The value is a label selector; its keys are rewritten as vCluster rewrites label keys. Always `{}`.',
    },
  ];
}

export function patchListRows(kind: string, of: PatchField): Setting[] {
  return [
    {
      path: `${kind}.patches`,
      shape: { kind: 'list' },
      default: [],
      ...of,
      about:
        'Rules that rewrite fields during the sync, in this order, at most 1,000. Each entry has one mode: expressions, reference or labels.',
    },
    ...patchRows(`${kind}.patches`, of),
    {
      path: `${kind}.patches[].reference.naming`,
      shape: { kind: 'choice', of: ['generated', 'vcluster'] },
      ...of,
      about:
        'Names that this entry writes, instead of those of `hostward.references.naming`. Not for Secrets and ConfigMaps. Only Hostward has this setting.',
    },
    {
      path: `${kind}.patches[].onMissing`,
      shape: { kind: 'choice', of: ['skip', 'create'] },
      default: 'skip',
      ...of,
      about:
        'Behaviour when the last key of the path is missing. `create` runs the expression and writes the key. Only Hostward has this setting.',
    },
    {
      path: `${kind}.patches[].onError`,
      shape: { kind: 'choice', of: ['fail', 'skip', 'keepLast'] },
      default: 'fail',
      ...of,
      about:
        'Behaviour when the expression fails: `fail` leaves the host object unchanged, `skip` skips this entry, `keepLast` keeps the value on the host. Only Hostward has this setting.',
    },
  ];
}
