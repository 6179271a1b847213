/** Its name in the option `signInMethods`. */
export const passwordMethod = 'password';
