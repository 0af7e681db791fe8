// The type of a row in the settings table: the path, the allowed values, the default and a description of a setting.
import type { Settings } from '../../settings.ts';
import type { TextRule } from '../../text-rules.ts';

export type FileContent = 'kubeconfig' | 'certificate' | 'private-key' | 'authorities' | 'access-key';

export type SettingShape =
  | { kind: 'boolean' }
  /** `holds`: what the named file must hold. */
  | { kind: 'text'; rule: TextRule; holds?: FileContent }
  | { kind: 'choice'; of: readonly string[] }
  | { kind: 'number'; above: number }
  | { kind: 'integer'; from: number; to: number }
  | { kind: 'texts'; rule: TextRule }
  | { kind: 'pairs' }
  /** A list of maps; the rows below `path[]` describe their keys. */
  | { kind: 'list' }
  /** An optional map; the rows below its path describe its keys. */
  | { kind: 'map' };

export interface Setting {
  path: string;
  shape: SettingShape;
  /** The value without a file; undefined when "not set" has a meaning of its own. */
  default?: boolean | number | string | readonly never[] | Readonly<Record<string, never>>;
  /** Describes a default that depends on something else. */
  defaultWords?: string;
  required?: true;
  /** The member of Settings that holds the value. */
  field: keyof Settings;
  /** `live`: the running daemon applies a change; `restart`: a change needs a restart. */
  change: 'live' | 'restart';
  about: string;
}
