import { describe, expect, it } from 'vitest';
import type { Kind } from '../../../src/apiserver/kinds/kind.ts';
import { Dependents } from '../../../src/apiserver/owners/dependents.ts';
import type { OwnerReference } from '../../../src/object/meta/object.ts';

const kind = {} as Kind;
const owner = (name: string, kindName: string): OwnerReference => ({
  ...{ apiVersion: 'v1', kind: kindName, name, uid: `uid of ${name}` },
});
const seen = (ownerReferences: OwnerReference[]) => ({
  ...{ kind, namespace: '', name: 'a' },
  object: { metadata: { name: 'a', uid: 'uid of a', ownerReferences } },
});
const canCheck = ({ kind: kindName }: OwnerReference) => kindName === 'Known';

describe('the memory of owners', () => {
  it('holds nothing about owners that cannot be checked, however many an object has', () => {
    const dependents = new Dependents();
    const unknown = Array.from({ length: 4_800 }, (_, at) => owner(`o${at}`, 'Unknown'));
    dependents.put('/a', seen(unknown), canCheck);
    expect(dependents.isEmpty).toBe(true);
    dependents.put('/a', seen([...unknown, owner('k', 'Known')]), canCheck);
    expect(dependents.get('/a')).toMatchObject({ owners: [{ name: 'k' }], isHeld: true });
    expect(dependents.ownedBy('uid of o1')).toEqual([]);
    expect(dependents.ownedBy('uid of k')).toHaveLength(1);
  });

  it('knows an object whose owners can all be checked', () => {
    const dependents = new Dependents();
    dependents.put('/a', seen([owner('k', 'Known')]), canCheck);
    expect(dependents.get('/a')).toMatchObject({ isHeld: false });
  });
});
