SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  tryItOutEnabled: true,
  // By default it shows the verdict of a validator on the internet, which it sends the address to.
  validatorUrl: null,
});
