// The live suites of sync in which others write too, servers lie, rights are missing and daemons take turns, between two
// embedded API servers; test/kube/sync.test.ts plays the same between real ones.
import { afterAll, beforeAll, describe } from 'vitest';
import { leadershipSuite } from '../contract/sync-leadership.ts';
import { massDeleteSuite } from '../contract/sync-mass-delete.ts';
import { processSuite } from '../contract/sync-process.ts';
import { racesSuite } from '../contract/sync-races.ts';
import { rightsSuite } from '../contract/sync-rights.ts';
import { type EmbeddedGround, startEmbeddedGround } from './embedded-ground.ts';

describe('live sync between two embedded API servers, disturbed', () => {
  let ground: EmbeddedGround;
  beforeAll(async () => {
    ground = await startEmbeddedGround();
  });
  afterAll(() => ground.stop());

  racesSuite(() => ground);
  rightsSuite(() => ground);
  leadershipSuite(() => ground);
  massDeleteSuite(() => ground);
  processSuite(() => ground);
});
