// A list or watch with the field selector `metadata.name=x` counts as a request for that object, so that a right on named objects
// allows it, as in the real server.
import { exactValue, parseFieldSelector } from '../../object/select/field-selector.ts';
import type { Target } from './target.ts';

/** The target as rights are judged on it; the request itself stays a list or a watch. */
export function withSelectedName(target: Target): Target {
  const { verb, name, query } = target;
  if ((verb !== 'list' && verb !== 'watch') || name !== '' || !query.has('fieldSelector')) return target;
  const parsed = parseFieldSelector(query.get('fieldSelector') ?? '');
  const selected = parsed.ok ? (exactValue(parsed.selector, 'metadata.name') ?? '') : '';
  return selected === '' || /[/%]|^\.{1,2}$/.test(selected) ? target : { ...target, name: selected };
}
