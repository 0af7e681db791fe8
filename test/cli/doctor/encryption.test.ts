// What a kube-apiserver counts of the Secrets that it stores, recorded from one of 1.36.3 without an --encryption-provider-config, with one,
// and with one that does not encrypt.
import { describe, expect, it } from 'vitest';
import { storedAs } from '../../../src/cli/doctor/checks/records/encryption.ts';

const counter = 'apiserver_storage_transformation_operations_total';
const line = (labels: Record<string, string>) =>
  `${counter}{${Object.entries({ resource: 'secrets', status: 'OK', ...labels })
    .map(([name, value]) => `${name}="${value}"`)
    .join(',')}} 2`;
const from = { transformation_type: 'from_storage' };
const to = { transformation_type: 'to_storage' };
const aes = 'k8s:enc:aescbc:v1:';

describe('storedAs()', () => {
  it('names what encrypts Secrets, and the key of it', () => {
    const lines = [from, to].flatMap((way) =>
      ['a:', aes].map((prefix) => line({ ...way, transformer_prefix: prefix })),
    );
    expect(storedAs(lines)).toEqual(['a:', aes]);
  });

  it('knows by what is read, before anything is written', () => {
    expect(storedAs([line({ ...from, transformer_prefix: aes })])).toEqual([aes]);
  });

  it('does not take what was encrypted once for what is written now', () => {
    const read = line({ ...from, transformer_prefix: aes });
    expect(storedAs([read, line({ ...to, transformer_prefix: '' })])).toEqual(['']);
  });

  it('finds nothing where nothing is counted, or only other resources, or only failures', () => {
    expect(storedAs([])).toEqual([]);
    expect(storedAs([line({ ...to, resource: 'configmaps', transformer_prefix: aes })])).toEqual([]);
    expect(storedAs([line({ ...to, status: 'Internal', transformer_prefix: aes })])).toEqual([]);
    expect(storedAs([`${counter}_created{resource="secrets",transformer_prefix="${aes}"} 2`])).toEqual([]);
  });
});
