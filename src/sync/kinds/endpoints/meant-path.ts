// The path in an Endpoints that a person meant who wrote a path of an EndpointSlice. Pure.

export function meantPath([root, at = '*', field, place = '*', ...rest]: readonly string[]): string | undefined {
  if (root === 'ports') return ['subsets[*].ports', `[${at}]`, field === undefined ? '' : `.${field}`].join('');
  if (root !== 'endpoints') return undefined;
  if (field === undefined) return 'subsets[*].addresses[*]';
  if (field === 'addresses') return `subsets[*].addresses[${place}].ip`;
  const below = [field, ...(place === '*' && rest.length === 0 ? [] : [place]), ...rest].join('.');
  return ['hostname', 'nodeName', 'targetRef'].includes(field) ? `subsets[*].addresses[${at}].${below}` : undefined;
}
