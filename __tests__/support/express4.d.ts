/** The same types serve: what the tests use of Express did not change between 4 and 5. */
declare module 'express4' {
  import express from 'express';
  export default express;
}
