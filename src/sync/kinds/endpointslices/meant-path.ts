// Suggests a path of an EndpointSlice to a person who wrote a path of an Endpoints. Pure.

export function meantPath([root, , list, at = '*', field, ...rest]: readonly string[]): string | undefined {
  if (root !== 'subsets') return undefined;
  if (list === 'ports') return ['ports', `[${at}]`, field === undefined ? '' : `.${field}`].join('');
  if (list !== 'addresses' && list !== 'notReadyAddresses') return 'endpoints[*]';
  if (field === undefined) return `endpoints[${at}]`;
  return field === 'ip' ? `endpoints[${at}].addresses[*]` : [`endpoints[${at}]`, field, ...rest].join('.');
}
