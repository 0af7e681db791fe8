// Computes the life of the credential in a kubeconfig from spec.certificateTTL, the end of the calling key and the configured
// limit. Pure.
import { shortestCertificateSeconds } from '../../../config/settings/management-settings.ts';
import { type FieldError, invalidValue } from '../../../object/meta/field-error.ts';

export interface LifeLimits {
  /** Whole seconds that the calling key has left; undefined = it does not end. */
  leftSeconds: number | undefined;
  /** The longest life that is configured; 0 = no limit. */
  maxSeconds: number;
}

export interface Life {
  /** Undefined: no duration is requested, so that the signer decides. */
  seconds: number | undefined;
  warnings: readonly string[];
  errors: readonly FieldError[];
}

export const daySeconds = 86_400;
export const yearSeconds = 365 * daySeconds;
/** A token that ends sooner is of no use to a person either. */
export const shortestSeconds = shortestCertificateSeconds;
/** The CSR API counts seconds in 32 bits with a sign. */
const longestSeconds = 2_147_483_647;

const path = 'spec.certificateTTL';

/** Absent = a day, 0 = until the calling key ends, at most a year. */
export function tokenLife(asked: number | undefined, limits: LifeLimits): Life {
  if (asked === undefined) return shortened(daySeconds, limits, 1);
  if (asked !== 0) return asExactly(asked, limits);
  return { ...shortened(yearSeconds, limits, 1), warnings: [] };
}

/** Absent = a day, 0 = as long as the signer gives. */
export function certificateLife(asked: number | undefined, limits: LifeLimits): Life {
  if (asked === undefined) return shortened(daySeconds, limits, shortestSeconds);
  if (asked !== 0) return asExactly(asked, limits);
  if (limits.maxSeconds === 0) return { seconds: undefined, warnings: [], errors: [] };
  const why = `must be from ${shortestSeconds} to ${limits.maxSeconds}: 0 leaves the life to the signer, and clientCert.maxTTL limits it`;
  return refused(invalidValue(path, 0, why));
}

function shortened(wanted: number, { leftSeconds, maxSeconds }: LifeLimits, floor: number): Life {
  const most = maxSeconds === 0 ? wanted : Math.min(wanted, maxSeconds);
  if (leftSeconds === undefined || leftSeconds >= most) return { seconds: most, warnings: [], errors: [] };
  const seconds = Math.max(floor, leftSeconds);
  const warning = `${path}: set to ${seconds}, because the calling key ends in ${leftSeconds} seconds`;
  return { seconds, warnings: [warning], errors: [] };
}

function asExactly(asked: number, { leftSeconds, maxSeconds }: LifeLimits): Life {
  if (asked < shortestSeconds || asked > longestSeconds)
    return refused(invalidValue(path, asked, `must be 0, or from ${shortestSeconds} to ${longestSeconds} seconds`));
  if (maxSeconds !== 0 && asked > maxSeconds)
    return refused(invalidValue(path, asked, `must be at most ${maxSeconds}, the longest that is configured`));
  if (leftSeconds !== undefined && asked > leftSeconds) {
    const why = `must end no later than the calling key, in ${leftSeconds} seconds; leave the field out to get the longest possible life`;
    return refused(invalidValue(path, asked, why));
  }
  return { seconds: asked, warnings: [], errors: [] };
}

function refused(error: FieldError): Life {
  return { seconds: undefined, warnings: [], errors: [error] };
}
