import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Stage } from './stage.ts';

const stage = new Stage();
beforeAll(() => stage.start());
afterAll(() => stage.stop());

describe('hostward doctor', () => {
  it('finds nothing wrong with a sound set-up', async () => {
    const { code, err } = await stage.doctor([]);
    expect([code, err]).toEqual([0, '']);
  });
});
