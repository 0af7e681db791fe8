// Types for the only module of undici that is loaded: the whole library needs 8 MB more memory.
declare module 'undici/lib/dispatcher/pool.js' {
  import { Pool } from 'undici';
  export default Pool;
}
